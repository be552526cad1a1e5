// Every text of the page, in English, Japanese and French: the one table. {n} and the like are filled in.

export const LANGUAGES = { en: "English", ja: "日本語", fr: "Français" };

/** @type {Record<string, [string, string, string]>} */
export const TEXTS = {
  // The game
  black: ["black", "黒", "noir"],
  white: ["white", "白", "blanc"],
  nameBlack: ["Black", "黒", "Noirs"],
  nameWhite: ["White", "白", "Blancs"],
  empty: ["empty", "空き", "vide"],
  playable: ["playable", "着手可能", "jouable"],
  best: ["best", "最善", "meilleur"],
  plus: ["plus {n}", "プラス{n}", "plus {n}"],
  minus: ["minus {n}", "マイナス{n}", "moins {n}"],
  exact: ["exact", "完全読み", "exact"],
  fromBook: ["from the book", "定石より", "du livre"],
  deep: ["{n} {n:move/moves} deep", "{n}手読み", "{n} {n:coup/coups}"],
  blackTurn: ["Black to move", "黒番", "Aux noirs"],
  whiteTurn: ["White to move", "白番", "Aux blancs"],
  played: ["{side} {move}, {n} turned", "{side} {move}、{n}枚返し", "{side} {move}, {n} {n:retourné/retournés}"],
  passed: ["{side} passes", "{side}パス", "{side} passe"],
  gameOver: ["Game over: {result}", "終局：{result}", "Partie finie : {result}"],
  blackWins: ["Black wins by {n}", "黒{n}石勝ち", "les noirs gagnent de {n}"],
  whiteWins: ["White wins by {n}", "白{n}石勝ち", "les blancs gagnent de {n}"],
  timeUp: ["The time of {side} is up", "{side}の時間切れ", "Temps écoulé : {side}"],
  draw: ["a draw", "引き分け", "nulle"],
  illegal: ["{move} is not legal here", "{move}には打てません", "{move} n'est pas légal ici"],
  settledHint: ["Best {move}, {told}", "最善は{move}、{told}", "Meilleur : {move}, {told}"],
  thinking: ["the engine thinks …", "思考中…", "le moteur réfléchit …"],
  line: ["Best line", "最善進行", "Meilleure suite"],
  lineBack: ["Best line backwards", "最善進行を戻る", "Meilleure suite, en arrière"],
  hoverHint: ["Point at a number to see its best line; the wheel plays it through.", "数字に重ねると最善進行、ホイールで進みます。", "Survolez un nombre pour voir sa suite ; la molette la joue."],
  typedMove: ["Move: d3", "着手：d3", "Coup : d3"],
  boardLabel: ["Board", "盤面", "Plateau"],
  // Panes
  paneGame: ["Game", "棋譜", "Partie"],
  paneBook: ["Book", "定石", "Livre"],
  paneLibrary: ["Games", "対局集", "Parties"],
  paneServer: ["Engine", "エンジン", "Moteur"],
  paneSettings: ["Settings", "設定", "Réglages"],
  // Buttons
  first: ["To the start", "最初へ", "Au début"],
  back: ["Back", "戻る", "Reculer"],
  forward: ["Forward", "進む", "Avancer"],
  last: ["To the end", "最後へ", "À la fin"],
  undo: ["Undo", "待った", "Reprendre"],
  newGame: ["New game", "新規対局", "Nouvelle partie"],
  randomStart: ["Random start", "XOT開始", "Départ aléatoire"],
  enginePlays: ["Engine move", "エンジンが打つ", "Le moteur joue"],
  setUp: ["Set up", "局面編集", "Position"],
  turnBoard: ["Rotate", "回転", "Tourner"],
  mirrorBoard: ["Mirror", "反転", "Miroir"],
  hints: ["Hints", "評価値", "Indices"],
  analyse: ["Analyse the game", "棋譜解析", "Analyser la partie"],
  stop: ["Stop", "停止", "Arrêter"],
  help: ["Keys", "キー操作", "Touches"],
  close: ["Close", "閉じる", "Fermer"],
  done: ["Done", "完了", "Terminé"],
  nextMistake: ["Next mistake", "次の悪手", "Faute suivante"],
  previousMistake: ["Previous mistake", "前の悪手", "Faute précédente"],
  graphKind: ["Scores or losses", "評価・損失切替", "Scores ou pertes"],
  nextBranch: ["Next branch", "次の分岐", "Branche suivante"],
  previousBranch: ["Previous branch", "前の分岐", "Branche précédente"],
  tenBack: ["Ten moves back", "10手戻る", "Dix coups en arrière"],
  tenForward: ["Ten moves forward", "10手進む", "Dix coups en avant"],
  focusBoard: ["To the board", "盤へ移動", "Au plateau"],
  simple: ["Depths on squares", "読みの深さ表示", "Profondeurs"],
  // Game pane
  moves: ["Moves", "着手", "Coups"],
  mistakes: ["Mistakes", "悪手", "Fautes"],
  noMistakes: ["None found so far.", "まだありません。", "Aucune pour l'instant."],
  comment: ["Comment", "コメント", "Commentaire"],
  promote: ["Make main line", "本譜にする", "Ligne principale"],
  analysing: ["{n} of {m} {m:position/positions}", "{n} / {m} 局面", "{n} {n:position/positions} sur {m}"],
  blackAhead: ["Black ahead", "黒優勢", "Noirs devant"],
  whiteAhead: ["White ahead", "白優勢", "Blancs devant"],
  graphEmpty: ["No scores yet", "評価値はまだありません", "Pas encore de scores"],
  graphScores: ["Scores from Black's side, from {low} to {high}", "黒から見た評価値 {low}〜{high}", "Scores vus des noirs, de {low} à {high}"],
  graphLosses: ["Discs lost by each side", "両者の損失石数", "Pions perdus par chaque camp"],
  lostDiscs: ["{n} lost", "{n}石損", "{n} {n:perdu/perdus}"],
  bestWas: ["best {move}", "最善{move}", "meilleur {move}"],
  blunder: ["blunder", "大悪手", "bévue"],
  mistake: ["mistake", "悪手", "faute"],
  inaccuracy: ["inaccuracy", "疑問手", "imprécision"],
  asTable: ["As a table", "表で見る", "En tableau"],
  move: ["Move", "着手", "Coup"],
  score: ["Score", "評価値", "Score"],
  sureness: ["How sure", "確度", "Certitude"],
  lost: ["Lost", "損失", "Perdu"],
  bestMove: ["Best", "最善", "Meilleur"],
  // Book pane
  bookNone: ["No book is open. Start with `desdaemon web --book FILE`.", "定石ファイルがありません。`desdaemon web --book FILE` で起動してください。", "Aucun livre. Lancez `desdaemon web --book FICHIER`."],
  bookUnknown: ["The book does not know this position.", "この局面は定石にありません。", "Le livre ne connaît pas cette position."],
  bookPosition: ["Score {score} ({low} to {high}), level {level}, grade {grade}", "評価 {score}（{low}〜{high}）、レベル{level}、等級{grade}", "Score {score} ({low} à {high}), niveau {level}, note {grade}"],
  bookSize: ["{n} {n:position/positions}", "{n}局面", "{n} {n:position/positions}"],
  readOnly: ["read only: {why}", "読み取り専用：{why}", "lecture seule : {why}"],
  grade: ["Grade", "等級", "Note"],
  lines: ["Lines", "進行数", "Lignes"],
  level: ["Level", "レベル", "Niveau"],
  results: ["Games", "対局成績", "Parties"],
  paths: ["Paths won, drawn, lost", "勝・分・負の進行", "Chemins gagnés, nuls, perdus"],
  source: ["Source", "出所", "Source"],
  sourceLink: ["book", "定石", "livre"],
  sourceLeaf: ["search", "探索", "recherche"],
  sourceHuman: ["by hand", "手入力", "à la main"],
  edit: ["Set a score", "評価値を設定", "Fixer un score"],
  unedit: ["Take back", "設定を取り消す", "Annuler"],
  remove: ["Delete", "削除", "Supprimer"],
  removePosition: ["Delete this position", "この局面を削除", "Supprimer cette position"],
  sureRemove: ["{what}: take it out of the book?", "{what}：定石から削除しますか？", "{what} : retirer du livre ?"],
  sureForget: ["Delete this game? {what}", "この対局を削除しますか？ {what}", "Oublier cette partie ? {what}"],
  storeGame: ["Store this game", "この対局を登録", "Enregistrer la partie"],
  grow: ["Commands", "定石操作", "Commandes"],
  run: ["Start", "開始", "Lancer"],
  unsure: ["unfounded", "不明", "incertain"],
  onlyEditor: ["This page may look at the book, not change it.", "このページは閲覧のみ可能です。", "Cette page peut lire le livre, pas le modifier."],
  // Jobs and server
  jobs: ["Jobs", "ジョブ", "Tâches"],
  noJobs: ["No jobs.", "ジョブはありません。", "Aucune tâche."],
  jobProgress: ["{phase} {done} of {total}", "{phase} {done} / {total}", "{phase} {done} sur {total}"],
  jobRate: ["{n} a second", "毎秒{n}", "{n} par seconde"],
  jobLeft: ["about {n} s left", "残り約{n}秒", "environ {n} s"],
  jobAdded: ["{n} {n:position/positions} added, {m} changed", "{n}局面追加、{m}局面変更", "{n} {n:position ajoutée/positions ajoutées}, {m} {m:modifiée/modifiées}"],
  stateQueued: ["waits", "待機中", "en attente"],
  stateRunning: ["runs", "実行中", "en cours"],
  stateDone: ["done", "完了", "terminée"],
  stateCancelled: ["stopped", "停止", "arrêtée"],
  stateFailed: ["failed", "失敗", "échouée"],
  status: ["Status", "状態", "État"],
  searches: ["{n} searching, {m} waiting, {t} {t:thread/threads}", "探索{n}、待機{m}、スレッド{t}", "{n} en recherche, {m} en attente, {t} {t:fil/fils}"],
  clients: ["{n} {n:client/clients}, {m} MB, up {t}", "クライアント{n}、{m} MB、稼働{t}", "{n} {n:client/clients}, {m} Mo, depuis {t}"],
  who: ["{key}: {n} in flight, {s} s searched", "{key}：処理中{n}、探索{s}秒", "{key} : {n} en cours, {s} s de recherche"],
  log: ["Last messages", "最近の通信", "Derniers messages"],
  connected: ["connected", "接続中", "connecté"],
  disconnected: ["Lost connection to the engine, reconnecting...", "エンジンに再接続中", "moteur absent ; nouvel essai"],
  shut: ["The gateway does not know this browser any more: open the address that desdaemon web has printed. What you entered is kept.", "もう一度 desdaemon web が表示したアドレスを開いてください。入力内容は保存されています。", "Ouvrez à nouveau l'adresse affichée par desdaemon web. Vos saisies sont gardées."],
  version: ["{name} {version}, role {role}", "{name} {version}、権限 {role}", "{name} {version}, rôle {role}"],
  // Games
  paste: ["Paste or drop a game or a board of any kind", "棋譜や局面を貼り付け・ドロップ", "Collez ou déposez une partie ou une position"],
  open: ["Open", "開く", "Ouvrir"],
  chooseFile: ["Choose a file", "ファイルを選択", "Choisir un fichier"],
  copyMoves: ["Copy moves", "着手をコピー", "Copier les coups"],
  copyBoard: ["Copy board", "盤面をコピー", "Copier la position"],
  copyLink: ["Copy link", "リンクをコピー", "Copier le lien"],
  copied: ["Copied", "コピーしました", "Copié"],
  save: ["Save", "保存", "Enregistrer"],
  saveAs: ["Save as", "形式を選んで保存", "Enregistrer en"],
  picture: ["Picture", "画像", "Image"],
  keep: ["Keep this game", "この対局を保存", "Garder cette partie"],
  kept: ["Saved games", "このブラウザに保存", "Gardées dans ce navigateur"],
  read: ["{n} {n:game/games} read", "{n}局読み込み", "{n} {n:partie lue/parties lues}"],
  full: ["The browser keeps no more.", "ブラウザの保存容量が一杯です。", "Le navigateur est plein."],
  players: ["Players", "対局者", "Joueurs"],
  date: ["Date", "日付", "Date"],
  namesAlone: ["Names of players (.jou) or tournaments (.trn): choose the .wtb file together with them.", "選手名（.jou）・大会名（.trn）は .wtb と一緒に選択してください。", "Noms de joueurs (.jou) ou de tournois (.trn) : choisissez le .wtb avec eux."],
  tooLarge: ["of the first {n} kB", "先頭の{n} kBのみ", "des premiers {n} ko"],
  keptSome: ["the list has the first {n}", "一覧には最初の{n}局", "la liste a les {n} premières"],
  // Set-up
  setupBlack: ["Black discs", "黒石", "Pions noirs"],
  setupWhite: ["White discs", "白石", "Pions blancs"],
  setupEmpty: ["Empty", "消す", "Vide"],
  setupClear: ["Clear", "全消去", "Vider"],
  setupStart: ["Start position", "初期配置", "Position initiale"],
  setupHelp: ["Choose a disc (b, w, x) and press squares.", "石を選び（b, w, x）マスを押してください。", "Choisissez un pion (b, w, x) et les cases."],
  sideToMove: ["To move", "手番", "Trait"],
  cancel: ["Cancel", "取消", "Annuler"],
  // Settings
  language: ["Language", "言語", "Langue"],
  theme: ["Colours", "配色", "Couleurs"],
  themeSystem: ["System default", "システムに合わせる", "comme le système"],
  themeLight: ["light", "ライト", "clair"],
  themeDark: ["dark", "ダーク", "sombre"],
  contrast: ["High contrast", "ハイコントラスト", "Contraste élevé"],
  animate: ["Animate flips", "返しアニメーション", "Animer les prises"],
  hintLevel: ["Level of hints", "評価のレベル", "Niveau des indices"],
  endless: ["Keep searching (infinite analysis)", "打つまで読み続ける", "Chercher sans fin"],
  most: ["Hints shown", "表示する候補数", "Indices affichés"],
  allMoves: ["all", "全て", "tous"],
  gameLevel: ["Level of game analysis", "棋譜解析のレベル", "Niveau d'analyse"],
  blackBy: ["Black is played by", "黒番", "Les noirs"],
  whiteBy: ["White is played by", "白番", "Les blancs"],
  human: ["a person", "人", "une personne"],
  engine: ["the engine", "エンジン", "le moteur"],
  playLevel: ["Level of play", "対局レベル", "Niveau de jeu"],
  minutes: ["Minutes a side (0: no limit)", "持ち時間（分、0は無制限）", "Minutes par camp (0 : sans limite)"],
  speakHints: ["Read hints aloud (screen readers)", "読み上げに評価値を含める", "Les cases disent leurs indices"],
  letters: ["Letter keys", "文字キー操作", "Touches lettres"],
};

let language = "en";

/** @param {string} wanted a key of `LANGUAGES`, or "" for the browser's */
export function choose(wanted) {
  const known = Object.keys(LANGUAGES);
  language = known.includes(wanted) ? wanted : (navigator.languages ?? []).map((one) => one.slice(0, 2)).find((one) => known.includes(one)) ?? "en";
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-t]")) {
    element.textContent = t(/** @type {HTMLElement} */ (element).dataset.t ?? "");
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    const text = t(/** @type {HTMLElement} */ (element).dataset.label ?? "");
    element.setAttribute(element.matches("input, textarea") ? "placeholder" : "title", text);
    element.setAttribute("aria-label", text);
  }
}

export const chosen = () => language;

/** A text in the language chosen. `{n}` is a value, `{n:one/many}` the word for so many: French has one for 0 too.
 * @param {string} name @param {Record<string, string|number>} [values] */
export function t(name, values = {}) {
  const found = TEXTS[name]?.[Object.keys(LANGUAGES).indexOf(language)] ?? name;
  const single = (/** @type {any} */ count) => (language === "fr" ? Math.abs(count) < 2 : Number(count) === 1);
  return found.replace(/\{(\w+)(?::([^/}]*)\/([^}]*))?\}/g, (whole, key, one, many) => (many === undefined ? String(values[key] ?? whole) : single(values[key]) ? one : many));
}
