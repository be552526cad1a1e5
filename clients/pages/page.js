// Steps through the game and through lines of play.
(()=>{
const places=JSON.parse(document.getElementById("data").textContent),last=places.length-1;
const board=document.getElementById("board"),discs=board.querySelectorAll(".disc");
const slider=document.getElementById("ply"),told=document.getElementById("told");
const graph=document.getElementById("graph"),cursor=document.getElementById("cursor");
const plays=document.getElementById("plays"),link=document.getElementById("link");
const left=+graph.dataset.left,right=+graph.dataset.right,plies=Math.max(1,+graph.dataset.plies);
const none=64;
let now=+slider.value,line=null,at=0;
function squares(text){
  const squares=[];
  for(let i=0;i<text.length;i+=2){
    const file="abcdefgh".indexOf(text[i]),rank="12345678".indexOf(text[i+1]);
    squares.push(file<0||rank<0?none:8*rank+file);
  }
  return squares;
}
function after(cells,side,move){
  const turned=cells.slice(),other=side==="X"?"O":"X";
  if(move>=none)return turned;
  turned[move]=side;
  for(const[x,y]of[[1,0],[1,1],[0,1],[-1,1],[-1,0],[-1,-1],[0,-1],[1,-1]]){
    const run=[];
    for(let c=move%8+x,r=(move>>3)+y;c>=0&&c<8&&r>=0&&r<8;c+=x,r+=y){
      const cell=cells[8*r+c];
      if(cell===other){run.push(8*r+c);continue}
      if(cell===side)run.forEach(one=>{turned[one]=side});
      break;
    }
  }
  return turned;
}
function mark(kind,square){
  const at=square<none?[46+square%8*48,46+(square>>3)*48]:[-99,-99];
  board.querySelector(".mark."+kind).setAttribute("transform","translate("+at[0]+" "+at[1]+")");
}
function draw(cells,played,best,text){
  discs.forEach((disc,at)=>{disc.setAttribute("class","disc "+{X:"black",O:"white","-":"none"}[cells[at]])});
  mark("played",played);mark("best",best);
  told.textContent=text;board.setAttribute("aria-label",text);
}
function named(square){return square<none?"ABCDEFGH"[square%8]+((square>>3)+1):"pass"}
function lines(){
  const place=places[now];
  plays.replaceChildren();
  for(const[name,text]of[["Best",place.line],["Game",place.followed]]){
    if(!text)continue;
    const row=document.createElement("p"),label=document.createElement("span");
    label.className="name";label.textContent=name;row.append(label);
    let side=place.side;
    squares(text).slice(0,14).forEach((square,number)=>{
      const button=document.createElement("button");
      button.type="button";button.textContent=side==="X"?named(square):named(square).toLowerCase();
      button.className=side==="X"?"black":"white";
      button.dataset.name=name;button.dataset.number=number;
      button.addEventListener("click",()=>play(name,number+1));
      row.append(button);
      side=side==="X"?"O":"X";
    });
    plays.append(row);
  }
}
function play(name,to){
  const place=places[now],moves=squares(name==="Best"?place.line:place.followed);
  at=Math.max(0,Math.min(moves.length,to));line=at?name:null;
  if(!line){show(now);return}
  let cells=[...place.board],side=place.side,made=none;
  for(made of moves.slice(0,at)){cells=after(cells,side,made);side=side==="X"?"O":"X"}
  const count=disc=>cells.filter(cell=>cell===disc).length;
  draw(cells,made,none,(name==="Best"?"Best line":"Line of the move made")+", move "+at+" of "+moves.length+": "
    +(side==="X"?"White":"Black")+" "+named(made)+", "+count("X")+"\u2013"+count("O"));
  plays.querySelectorAll("button").forEach(button=>{
    if(button.dataset.name===name&&+button.dataset.number===at-1)button.setAttribute("aria-current","true");
    else button.removeAttribute("aria-current");
  });
}
function show(to){
  now=Math.min(last,Math.max(0,to));line=null;at=0;
  const place=places[now];
  draw([...place.board],place.played,place.best,place.told);
  slider.value=now;slider.setAttribute("aria-valuetext",place.told);
  cursor.setAttribute("transform","translate("+(left+Math.min(now,plies)*(right-left)/plies)+" 0)");
  document.querySelectorAll("tr[aria-current]").forEach(row=>row.removeAttribute("aria-current"));
  const row=document.querySelector('tr[data-row="'+(now+1)+'"]');
  if(row)row.setAttribute("aria-current","true");
  if(link)link.href=place.link;
  lines();
}
const ways={first:()=>show(0),back:()=>line?play(line,at-1):show(now-1),on:()=>line?play(line,at+1):show(now+1),
  last:()=>show(last)};
document.getElementById("steps").hidden=false;plays.hidden=false;
document.querySelectorAll("[data-to]").forEach(b=>b.addEventListener("click",()=>ways[b.dataset.to]()));
slider.addEventListener("input",()=>show(+slider.value));
graph.addEventListener("click",event=>{
  const box=graph.getBoundingClientRect(),x=(event.clientX-box.left)*graph.viewBox.baseVal.width/box.width;
  show(Math.round((x-left)*plies/(right-left)));
});
document.querySelectorAll("[data-ply]").forEach(one=>one.addEventListener("click",()=>{
  show(one.dataset.ply-1);
  if(one.dataset.line)play("Best",1);
}));
document.addEventListener("keydown",event=>{
  const to={ArrowLeft:"back",ArrowRight:"on",Home:"first",End:"last"}[event.key];
  if(event.key==="Escape"&&line){show(now);return}
  if(!to||event.target===slider||event.altKey||event.ctrlKey||event.metaKey)return;
  event.preventDefault();ways[to]();
});
const copy=document.getElementById("copy");
if(navigator.clipboard){
  copy.hidden=false;
  copy.addEventListener("click",()=>navigator.clipboard.writeText(document.getElementById("transcript").textContent)
    .then(()=>{copy.textContent="Copied"}));
}
const asked=/^#([0-9]+)$/.exec(location.hash);
show(asked?asked[1]-1:now);
addEventListener("hashchange",()=>{const to=/^#([0-9]+)$/.exec(location.hash);if(to)show(to[1]-1)});
})();
