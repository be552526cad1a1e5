"""An analysis for the terminal: the table of moves beside a graph of the score, then a summary of each player."""

from __future__ import annotations

from desdaemon.protocol.othello.notation import move_text

from .game import GRADES, MARKS, AnalyzedPly, GameAnalysis, PlayerSummary, line_text, side_names

_HALF = 16
"""Columns of the graph on either side of an even game."""
_LINE_MOVES = 7
WIDE = 108
"""Columns that the whole table takes."""
_PLAIN = 49
"""Columns before the line of play without bars."""


def table(analysis: GameAnalysis, width: int = WIDE) -> str:
    """The report, lines with their ends; in less than `WIDE` columns without the bars and shorter lines of play."""
    lines = [heading(analysis), f"{analysis.engine}, {analysis.effort}", ""]
    if not analysis.complete:
        moves = len(analysis.whole.record.moves)
        lines[1:1] = [f"interrupted: the first {len(analysis.steps)} of {moves} moves"]
    bars = width >= WIDE
    most = _LINE_MOVES if bars else max(1, min(_LINE_MOVES, (width - _PLAIN) // 3))
    largest = max(8, *map(abs, analysis.scores()))
    scale = f"White {'':{_HALF - 6}}0{'':{_HALF - 6}} Black"
    lines.append(f" ply  move  score  best  score  lost  how sure  {f'{scale}  ' if bars else ''}best line")
    for step, score in zip(analysis.steps, analysis.scores(), strict=False):
        lines.append(_row(step, f"{_bar(score, largest)}  " if bars else "", most))
    lines.append("")
    lines += summary_lines(analysis)
    return "\n".join(lines) + "\n"


def heading(analysis: GameAnalysis) -> str:
    """The title line: players, event, date, result."""
    game = analysis.game
    black, white = side_names(game)
    names = " - ".join(
        name if name == side else f"{name} ({side})" for name, side in ((black, "Black"), (white, "White"))
    )
    where = ", ".join(part for part in (game.event, game.date) if part)
    return f"{names}{f', {where}' if where else ''}: {result_text(analysis.result)}"


def result_text(score: int | None) -> str:
    """A result in words, from Black's score."""
    if score is None:
        return "not finished"
    if score == 0:
        return "a draw"
    return f"{'Black' if score > 0 else 'White'} wins by {abs(score)}"


def _row(step: AnalyzedPly, bar: str, most: int) -> str:
    name = move_text(step.move)
    black = step.position.black_to_move
    move = f"{step.number:4}  {'X' if black else 'O'} {name}"
    if step.position.must_pass:
        return f"{move:44}{bar}".rstrip()
    best = f"{move_text(step.best):>4}  {step.score:+5}" if step.lost else f"{'':11}"
    lost = f"{step.lost:4}{MARKS[step.grade]:2}" if step.lost else f"{'':6}"
    line = line_text(step.line, black, most)
    return f"{move:10}  {step.played:+5}  {best}  {lost}  {step.sure:>6}  {bar}{line}"


def _bar(score: int, largest: int) -> str:
    """A bar from the middle: to the right for Black, to the left for White."""
    length = round(abs(score) * _HALF / largest)
    if score >= 0:
        return f"{'':{_HALF}}|{'#' * length:{_HALF}}"
    return f"{'=' * length:>{_HALF}}|{'':{_HALF}}"


def summary_lines(analysis: GameAnalysis) -> list[str]:
    """A line for each player, with the worst move named."""
    names = dict(zip((True, False), side_names(analysis.game), strict=True))
    width = max(map(len, names.values()))
    grades = "  ".join(f"{MARKS[name]:>2}" for _, name in GRADES)
    lines = [f"{'':{width}}  choices  best  accuracy  lost  a move  {grades}  worst"]
    return lines + [_summary(f"{name:{width}}", analysis.summary(black), analysis) for black, name in names.items()]


def _summary(name: str, account: PlayerSummary, analysis: GameAnalysis) -> str:
    grades = "  ".join(f"{account.grades[grade]:2}" for _, grade in GRADES)
    worst = ""
    if account.worst:
        step = analysis.steps[account.worst - 1]
        worst = f"{step.number}. {move_text(step.move)}, {step.lost} worse than {move_text(step.best)}"
        worst += f", gave away {step.turned}" if step.turned else ""
    return (
        f"{name}  {account.choices:7}  {account.best:4}  {account.accuracy:6.1f} %  {account.lost:4}  "
        f"{account.mean:6.2f}  {grades}  {worst}"
    ).rstrip()
