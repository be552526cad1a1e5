"""The style sheet of analysis pages; its colours are those of `protocol.othello.diagrams`."""

from desdaemon.protocol.othello.diagrams import colour_sheet

STYLE = (
    colour_sheet()
    + """
*{box-sizing:border-box}
html{overflow-wrap:break-word}
body{margin:0 auto;max-width:1180px;padding:1.5rem clamp(.8rem,3vw,2rem) 3rem;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
h1{margin:0;font-size:clamp(1.3rem,3.2vw,1.9rem);line-height:1.25}h2{margin:.2rem 0 .6rem;font-size:1.1rem}
header p{margin:.3rem 0 1.2rem;color:var(--soft)}header strong{color:var(--ink)}.against{color:var(--soft);
font-weight:400;font-size:.8em}
main{display:grid;grid-template-columns:minmax(280px,430px) minmax(0,1fr);gap:1.2rem;align-items:start}
section{background:var(--card);border:1px solid var(--edge);border-radius:12px;padding:1rem}
main+section,section+section{margin-top:1.2rem}main section{margin:0}
@media(max-width:820px){main{grid-template-columns:minmax(0,1fr)}}
svg{display:block;width:100%;height:auto}
.frame{fill:var(--frame)}.felt{fill:var(--felt)}.lines{stroke:var(--grid);stroke-width:1.5;fill:none}
.point{fill:var(--grid)}.coordinate{fill:var(--letter)}
.disc.black{fill:var(--black-disc);stroke:#000}.disc.white{fill:var(--white-disc);stroke:#8d8f88}.disc.none{fill:none;
stroke:none}.mark{fill:none;stroke-width:4}.mark.played circle{stroke:var(--last-move)}
.mark.best path{stroke:#fff;stroke-linecap:round;stroke-width:5;paint-order:stroke;filter:drop-shadow(0 0 2px #000)}
.stone{display:inline-block;width:.72em;height:.72em;border-radius:50%;margin-right:.4em;border:1px solid #000}
.stone.black{background:var(--black-disc);border-color:#888}.stone.white{background:var(--white-disc);border-color:#777}
.player{display:inline-block}
.steps{display:flex;gap:.4rem;align-items:center;margin-top:.8rem}.steps[hidden]{display:none}
.steps input{flex:1;min-width:0;accent-color:var(--accent)}
button{font:inherit;min-width:2.6rem;min-height:2.4rem;color:var(--ink);background:var(--page);
border:1px solid var(--edge);border-radius:8px;cursor:pointer;font-size:1.25rem;line-height:1}
button:hover{border-color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.told{min-height:3em;margin:.7rem 0 0}
.plays{margin:.5rem 0 0;font-size:.9rem;min-height:5.2em}.plays[hidden]{display:none}.plays p{margin:.15rem 0}
.plays .name{color:var(--soft);display:inline-block;min-width:3.6em}
.plays button{font:inherit;font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.86rem;min-width:0;
min-height:0;padding:.16rem .3rem;margin:0 .05rem .1rem 0;border-color:transparent;background:none;border-radius:5px}
.plays button.white{color:var(--soft)}.plays button:hover{border-color:var(--accent)}
.plays button[aria-current]{background:var(--accent);color:var(--card)}
.links{display:flex;flex-wrap:wrap;gap:.4rem 1rem;margin:.6rem 0 0;font-size:.9rem}
.transcript code{display:block;overflow-wrap:anywhere;font-family:ui-monospace,"DejaVu Sans Mono",monospace;
font-size:.9rem;background:var(--page);border:1px solid var(--edge);border-radius:8px;padding:.6rem .8rem}
.transcript button{font-size:.9rem;min-height:2rem;padding:.2rem .8rem;margin-top:.6rem}
.transcript button[hidden]{display:none}
.legend{color:var(--soft);font-size:.88rem;margin:.5rem 0 1rem}
.key.blunder{color:var(--blunder)}.key.mistake{color:var(--mistake)}.key.inaccuracy{color:var(--inaccuracy)}
#graph{cursor:crosshair;touch-action:manipulation}.grid{stroke:var(--edge);stroke-width:1;fill:none}
.zero{stroke:var(--soft);stroke-width:1.2;fill:none}.solved{fill:var(--solved)}
.tick,.side{fill:var(--soft);font-size:12px}.tick.value{text-anchor:end}.tick.ply{text-anchor:middle}
.area.black{fill:var(--black-area);opacity:.85}.area.white{fill:var(--white-area);opacity:.9}
.score{fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round}
.cursor{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:3 3;fill:none}
.blot{stroke:var(--card);stroke-width:1.5}.blot.blunder{fill:var(--blunder)}.blot.mistake{fill:var(--mistake)}
.blot.inaccuracy{fill:var(--inaccuracy)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.28rem .6rem;text-align:right;border-bottom:1px solid var(--edge);white-space:nowrap}
thead th{white-space:normal;vertical-align:bottom;font-size:.82rem;color:var(--soft);font-weight:600}
th:first-child{text-align:left}
.summary td,.summary th{padding:.3rem .4rem}.summary tbody th{font-weight:400;color:var(--soft)}
.summary thead th{font-size:.95rem;color:var(--ink);white-space:normal;overflow-wrap:anywhere}
td.line a{color:inherit;text-decoration:none}td.line a:hover{text-decoration:underline}
.index td.text,.index th.text{text-align:left;white-space:normal}.index td,.index th{padding:.28rem .45rem}
.moves td:nth-child(2),.moves th:nth-child(2),.moves td:nth-child(7),td.line,.moves th:last-child{text-align:left}
.line{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.86em;color:var(--soft)}
tr.blunder td:nth-child(6),tr.blunder td:nth-child(7){color:var(--blunder);font-weight:600}
tr.mistake td:nth-child(6),tr.mistake td:nth-child(7){color:var(--mistake);font-weight:600}
tr.inaccuracy td:nth-child(6),tr.inaccuracy td:nth-child(7){color:var(--inaccuracy)}
tr[aria-current]{background:var(--row)}a{color:var(--accent)}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:1.2rem}figure{margin:0}
figcaption{font-size:.9rem;margin-top:.5rem}figcaption strong{font-weight:600}figcaption .line{display:block}
@media(max-width:480px){section{padding:.75rem;border-radius:9px}th,td{padding:.28rem .4rem}
.tick,.side{font-size:21px}.minor{display:none}
.index{font-size:.8rem}.index td,.index th{padding:.25rem .2rem}.index thead th{font-size:.72rem}
.blot{transform-box:fill-box}
.figures{grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:.8rem}figcaption{font-size:.82rem}}
@media print{.steps{display:none}body{max-width:none}}
"""
)
