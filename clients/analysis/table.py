"""An analysis for a terminal: a table of moves beside a graph of the score, then what each player gave away."""

from __future__ import annotations

from desdaemon.protocol.othello.notation import move_text

from .game import GRADES, GameAnalysis, Step, Summary, line_text

_HALF = 16
"""Columns of the graph on either side of an even game."""
_LINE_MOVES = 7


def table(analysis: GameAnalysis) -> str:
    """The report, lines with their ends."""
    lines = [heading(analysis), f"{analysis.engine}, {analysis.effort}", ""]
    largest = max(8, *map(abs, analysis.scores()))
    scale = f"White {'':{_HALF - 6}}0{'':{_HALF - 6}} Black"
    lines.append(f" ply  move  score  best  score  lost  how sure  {scale}  best line")
    lines += [_row(step, score, largest) for step, score in zip(analysis.steps, analysis.scores(), strict=False)]
    lines.append("")
    lines += summary_lines(analysis)
    return "\n".join(lines) + "\n"


def heading(analysis: GameAnalysis) -> str:
    """Who played, where and when, and how it ended."""
    game = analysis.game
    names = f"{game.record.black or 'Black'} (Black) - {game.record.white or 'White'} (White)"
    where = ", ".join(part for part in (game.event, game.date) if part)
    return f"{names}{f', {where}' if where else ''}: {result_text(analysis.result)}"


def result_text(score: int | None) -> str:
    """A result in words, from Black's score."""
    if score is None:
        return "not finished"
    if score == 0:
        return "a draw"
    return f"{'Black' if score > 0 else 'White'} wins by {abs(score)}"


def _row(step: Step, score: int, largest: int) -> str:
    name = move_text(step.move)
    black = step.position.black_to_move
    move = f"{step.number:4}  {'X' if black else 'O'} {name}"
    if step.position.must_pass:
        return f"{move:44}{_bar(score, largest)}".rstrip()
    best = f"{move_text(step.best):>4}  {step.score:+5}" if step.lost else f"{'':11}"
    lost = f"{step.lost:4}{_MARKS[step.grade]}" if step.lost else f"{'':6}"
    line = line_text(step.line, black, _LINE_MOVES)
    return f"{move:10}  {step.played:+5}  {best}  {lost}  {step.sure:>6}  {_bar(score, largest)}  {line}"


_MARKS = {"blunder": "??", "mistake": "? ", "inaccuracy": "?!", "": "  "}


def _bar(score: int, largest: int) -> str:
    """A bar from the middle: to the right for Black, to the left for White."""
    length = round(abs(score) * _HALF / largest)
    if score >= 0:
        return f"{'':{_HALF}}|{'#' * length:{_HALF}}"
    return f"{'=' * length:>{_HALF}}|{'':{_HALF}}"


def summary_lines(analysis: GameAnalysis) -> list[str]:
    """A line for each player, with the worst move named."""
    names = {True: analysis.game.record.black or "Black", False: analysis.game.record.white or "White"}
    width = max(map(len, names.values()))
    grades = "  ".join(f"{name:>10}" for _, name in GRADES)
    lines = [f"{'':{width}}  choices  best  discs lost  a move  {grades}  worst"]
    return lines + [_summary(f"{name:{width}}", analysis.summary(black), analysis) for black, name in names.items()]


def _summary(name: str, account: Summary, analysis: GameAnalysis) -> str:
    grades = "  ".join(f"{account.grades[grade]:10}" for _, grade in GRADES)
    worst = ""
    if account.worst:
        step = analysis.steps[account.worst - 1]
        worst = f"{step.number}. {move_text(step.move)}, {step.lost} worse than {move_text(step.best)}"
        worst += f", gave away {step.turned}" if step.turned else ""
    return f"{name}  {account.choices:7}  {account.best:4}  {account.lost:10}  {account.mean:6.2f}  {grades}  {worst}"
