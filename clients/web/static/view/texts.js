// All texts of the page, in English, Japanese and French; {n} and the like are filled in.

import { PASS, finalScore, other } from "../model/rules.js";

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
  deep: ["read {n} {n:move/moves} ahead", "{n}手読み", "lu à {n} {n:coup/coups}"],
  sureTo: ["selectivity {n} %", "選択度{n}%", "sélectivité {n} %"],
  signs: ["The numbers on the board", "盤上の数字", "Les nombres du plateau"],
  aheadAbout: [
    "The side to move ends 4 discs ahead if both play their best",
    "双方最善なら手番側が4石勝ち",
    "Le camp au trait finit 4 pions devant, si chacun joue au mieux",
  ],
  exactAbout: ["Read to the end of the game", "最後まで読み切り", "Lu jusqu'à la fin"],
  colours: ["Colours", "色", "Couleurs"],
  coloursAbout: [
    "Framed: the best. Green loses at most 2 discs, amber 6, red more",
    "枠は最善、緑は2石損まで、黄は6石まで、赤はそれ以上",
    "Encadré : le meilleur. Vert perd 2 pions au plus, ambre 6, rouge davantage",
  ],
  blackTurn: ["Black to move", "黒番", "Aux noirs"],
  whiteTurn: ["White to move", "白番", "Aux blancs"],
  played: ["{side} {move}, {n} turned", "{side} {move}、{n}枚返し", "{side} {move}, {n} {n:retourné/retournés}"],
  passed: ["{side} passes", "{side}パス", "{side} passe"],
  gameOver: ["Game over: {result}", "終局：{result}", "Partie finie : {result}"],
  blackWins: ["Black wins by {n}", "黒{n}石勝ち", "les noirs gagnent de {n}"],
  whiteWins: ["White wins by {n}", "白{n}石勝ち", "les blancs gagnent de {n}"],
  timeUp: ["The time of {side} is up", "{side}の時間切れ", "Temps écoulé : {side}"],
  draw: ["a draw", "引き分け", "nulle"],
  noMove: [
    "{text} is no move; moves are written like d3",
    "{text}は着手ではありません（例：d3）",
    "{text} n'est pas un coup ; on écrit d3",
  ],
  illegal: ["{move} is not legal here", "{move}には打てません", "{move} n'est pas légal ici"],
  settledHint: ["Best {move}, {told}", "最善は{move}、{told}", "Meilleur : {move}, {told}"],
  thinking: ["the engine thinks …", "思考中…", "le moteur réfléchit …"],
  line: ["Best line", "最善進行", "Meilleure suite"],
  lineBack: ["Best line backwards", "最善進行を戻る", "Meilleure suite, en arrière"],
  hoverHint: [
    "Point at a number to see its best line; the wheel plays it through.",
    "数字に重ねると最善進行、ホイールで進みます。",
    "Survolez un nombre pour voir sa suite ; la molette la joue.",
  ],
  typedMove: ["Move: d3", "着手：d3", "Coup : d3"],
  boardLabel: ["Board", "盤面", "Plateau"],
  // Panes
  paneGame: ["Game", "棋譜", "Partie"],
  paneBook: ["Book", "定石", "Livre"],
  panePlayed: ["Explorer", "実戦検索", "Explorateur"],
  paneLibrary: ["Games", "対局集", "Parties"],
  paneServer: ["Engine", "エンジン", "Moteur"],
  paneSettings: ["Settings", "設定", "Réglages"],
  // Buttons
  first: ["To the start", "最初へ", "Au début"],
  back: ["Back", "戻る", "Reculer"],
  forward: ["Forward", "進む", "Avancer"],
  last: ["To the end", "最後へ", "À la fin"],
  undo: ["Undo", "待った", "Reprendre"],
  putAside: [
    "The last game is saved under Games.",
    "前の対局は「対局集」に保存しました。",
    "La partie d'avant est gardée sous « Parties ».",
  ],
  newGame: ["New game", "新規対局", "Nouvelle partie"],
  randomStart: ["Random start", "XOT開始", "Départ aléatoire"],
  enginePlays: ["Engine move", "エンジンが打つ", "Le moteur joue"],
  setUp: ["Set up", "局面編集", "Position"],
  turnBoard: ["Rotate", "回転", "Tourner"],
  mirrorBoard: ["Mirror", "反転", "Miroir"],
  hints: ["Hints", "評価値", "Indices"],
  analyse: ["Analyse the game", "棋譜解析", "Analyser la partie"],
  stop: ["Stop", "停止", "Arrêter"],
  help: ["Help", "ヘルプ", "Aide"],
  keys: ["Keys", "キー操作", "Touches"],
  close: ["Close", "閉じる", "Fermer"],
  done: ["Done", "完了", "Terminé"],
  nextMistake: ["Next mistake", "次の悪手", "Faute suivante"],
  previousMistake: ["Previous mistake", "前の悪手", "Faute précédente"],
  showLosses: ["Show losses", "損失を表示", "Voir les pertes"],
  showScores: ["Show scores", "評価を表示", "Voir les scores"],
  nextBranch: ["Next branch", "次の分岐", "Branche suivante"],
  previousBranch: ["Previous branch", "前の分岐", "Branche précédente"],
  tenBack: ["Ten moves back", "10手戻る", "Dix coups en arrière"],
  tenForward: ["Ten moves forward", "10手進む", "Dix coups en avant"],
  focusBoard: ["To the board", "盤へ移動", "Au plateau"],
  simple: ["Depths on squares", "読みの深さ表示", "Profondeurs"],
  // Game pane
  moves: ["Moves", "着手", "Coups"],
  accuracy: [
    "Accuracy: Black {black}, White {white}",
    "精度：黒 {black}、白 {white}",
    "Précision : noirs {black}, blancs {white}",
  ],
  mistakes: ["Mistakes", "悪手", "Fautes"],
  noMistakes: ["None found so far.", "まだありません。", "Aucune pour l'instant."],
  leftBook: ["† Left the book: {move}", "† 定石外れ：{move}", "† Sortie du livre : {move}"],
  comment: ["Comment", "コメント", "Commentaire"],
  promote: ["Make main line", "本譜にする", "Ligne principale"],
  blackAhead: ["Black ahead", "黒優勢", "Noirs devant"],
  whiteAhead: ["White ahead", "白優勢", "Blancs devant"],
  graphEmpty: ["No scores yet", "評価値はまだありません", "Pas encore de scores"],
  graphScores: [
    "Scores from Black's side, from {low} to {high}",
    "黒から見た評価値 {low}〜{high}",
    "Scores vus des noirs, de {low} à {high}",
  ],
  graphLosses: ["Discs lost by each side", "両者の損失石数", "Pions perdus par chaque camp"],
  lostDiscs: ["{n} {n:disc/discs} lost", "{n}石損", "{n} {n:pion perdu/pions perdus}"],
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
  bookNone: [
    "No book is open. Start with “desdaemon web --book FILE”, in a clone “make web ARGS='--book FILE'”; the FILE " +
      "“builtin” is the book that ships.",
    "定石ファイルがありません。「desdaemon web --book FILE」（クローンでは 「make web ARGS='--book FILE'」）で起動してください。FILE が 「builtin」 " +
      "なら付属の定石です。",
    "Aucun livre. Lancez « desdaemon web --book FICHIER », dans un clone « make web ARGS='--book FICHIER' » ; le " +
      "FICHIER « builtin » est le livre fourni.",
  ],
  bookUnknown: [
    "The book does not know this position.",
    "この局面は定石にありません。",
    "Le livre ne connaît pas cette position.",
  ],
  bookPosition: [
    "Score {score} ({low} to {high}), level {level}, grade {grade}",
    "評価 {score}（{low}〜{high}）、レベル{level}、等級{grade}",
    "Score {score} ({low} à {high}), niveau {level}, note {grade}",
  ],
  bookSize: ["{n} {n:position/positions}", "{n}局面", "{n} {n:position/positions}"],
  builtIn: ["it is built in", "内蔵", "il est intégré"],
  readOnly: ["read only: {why}", "読み取り専用：{why}", "lecture seule : {why}"],
  saveCopy: ["Save a copy", "コピーを保存", "Enregistrer une copie"],
  copyWhere: [
    "in the daemon's data folder, and use it from now on",
    "デーモンのデータフォルダに保存し、以後それを使います",
    "dans le dossier de données du démon, et l'utiliser désormais",
  ],
  grade: ["Grade", "等級", "Note"],
  gradeAbout: [
    "How far the score can be trusted, from A, the most, to F",
    "評価値の信頼度（Aが最高、Fが最低）",
    "Confiance dans le score, de A, la plus grande, à F",
  ],
  lines: ["Lines", "進行数", "Lignes"],
  linesAbout: ["Ways on from here that the book has", "この先の定石の進行の数", "Suites d'ici que le livre contient"],
  toKnow: ["To know: Black, White", "暗記数：黒、白", "À savoir : noirs, blancs"],
  toKnowAbout: [
    "How few lines each side must remember to keep its score",
    "評価を保つために覚える最少の進行数",
    "Combien peu de lignes chaque camp doit retenir pour garder son score",
  ],
  linesToKnow: ["Lines to know", "暗記数", "Lignes à savoir"],
  level: ["Level", "レベル", "Niveau"],
  levelAbout: [
    "Level of the search that the score comes from",
    "評価値を出した探索のレベル",
    "Niveau de la recherche d'où vient le score",
  ],
  results: ["Games", "対局成績", "Parties"],
  paths: ["Paths won, drawn, lost", "勝・分・負の進行", "Chemins gagnés, nuls, perdus"],
  pathsAbout: [
    "Ways on whose end was solved, by result",
    "結果まで読み切った進行の数",
    "Suites résolues jusqu'au bout, par résultat",
  ],
  source: ["Source", "出所", "Source"],
  sourceLink: ["book", "定石", "livre"],
  sourceLeaf: ["search", "探索", "recherche"],
  sourceHuman: ["by hand", "手入力", "à la main"],
  edit: ["Set a score", "評価値を設定", "Fixer un score"],
  unedit: ["Take back", "設定を取り消す", "Annuler"],
  remove: ["Delete", "削除", "Supprimer"],
  removePosition: ["Delete this position", "この局面を削除", "Supprimer cette position"],
  sureRemove: ["{what}: take it out of the book?", "{what}：定石から削除しますか？", "{what} : retirer du livre ?"],
  sureForget: ["Delete this game? {what}", "この対局を削除しますか？ {what}", "Supprimer cette partie ? {what}"],
  sureForgetAll: ["Delete {n} {n:game/games}?", "{n}局を削除しますか？", "Supprimer {n} {n:partie/parties} ?"],
  storeGame: ["Store this game", "この対局を登録", "Enregistrer la partie"],
  grow: ["Commands", "定石操作", "Commandes"],
  run: ["Start", "開始", "Lancer"],
  unsure: ["unfounded", "不明", "incertain"],
  onlyEditor: [
    "This page may look at the book, not change it.",
    "このページは閲覧のみ可能です。",
    "Cette page peut lire le livre, pas le modifier.",
  ],
  // Explorer
  playedNone: ["No game came here.", "この局面の実戦はありません。", "Aucune partie ici."],
  gamesMissing: [
    "No collection of games is loaded: “desdaemon games index FOLDER” makes one",
    "対局集の索引がありません：「desdaemon games index FOLDER」 で作れます",
    "Aucune collection de parties : « desdaemon games index DOSSIER » en fait une",
  ],
  player: ["Player", "対局者", "Joueur"],
  tournament: ["Tournament", "大会", "Tournoi"],
  fromYear: ["From", "開始年", "De"],
  toYear: ["To", "終了年", "À"],
  narrow: ["Filter", "絞り込む", "Filtrer"],
  won: ["Won", "勝", "Gagné"],
  drawn: ["Drawn", "分", "Nul"],
  lostGames: ["Lost", "負", "Perdu"],
  mean: ["Mean", "平均", "Moyenne"],
  years: ["Years", "年", "Années"],
  result: ["Result", "結果", "Résultat"],
  oftenBy: ["Most often by", "多く打った人", "Le plus souvent par"],
  newestGames: ["Newest games", "新しい対局", "Parties récentes"],
  // Exercises
  paneExercises: ["Exercises", "問題", "Exercices"],
  nextExercise: ["Next exercise", "次の問題", "Exercice suivant"],
  hint: ["Hint", "ヒント", "Aide"],
  answer: ["Answer", "答え", "Réponse"],
  why: ["Why?", "理由", "Pourquoi ?"],
  exercisesNone: [
    "Practise the mistakes of the game on the board, or choose a file of exercises (.obf) that “desdaemon exercises” " +
      "has written.",
    "盤上の対局の悪手を練習するか、「desdaemon exercises」 が書き出した問題ファイル（.obf）を選んでください。",
    "Entraînez-vous sur les fautes de la partie du plateau, ou choisissez un fichier d'exercices (.obf) écrit par « " +
      "desdaemon exercises ».",
  ],
  mine: ["Practise my mistakes", "自分の悪手を練習", "Travailler mes fautes"],
  mineNone: [
    "Analyse a game, or finish one in Learn, then its mistakes are asked here.",
    "棋譜解析をするか指導対局を終えると、その悪手がここで出題されます。",
    "Analysez une partie, ou finissez-en une dans « Apprendre » : ses fautes seront posées ici.",
  ],
  mineFew: [
    "No move that lost {n} discs or more is known in this game.",
    "この対局に{n}石以上損な手は見つかっていません。",
    "Aucun coup connu de cette partie n'a perdu {n} pions ou plus.",
  ],
  exercisesMade: [
    "{n} of your mistakes {n:is/are} in the list now",
    "悪手{n}問を追加しました",
    "{n} de vos fautes {n:est maintenant/sont maintenant} dans la liste",
  ],
  exercisesReady: [
    "Press “Next exercise”; it takes the place of the game on the board.",
    "「次の問題」を押すと、盤上の対局が問題に替わります。",
    "« Exercice suivant » remplace la partie du plateau.",
  ],
  exercisesDue: ["{n} of {m} due", "{m}問中{n}問が復習時期", "{n} sur {m} à faire"],
  exercisesRead: ["{n} {n:exercise/exercises} read", "{n}問読み込み", "{n} {n:exercice lu/exercices lus}"],
  noRoom: [
    "this browser has no room for them: they go with the page",
    "このブラウザには保存できず、ページを閉じると消えます",
    "ce navigateur n'a pas de place : ils partent avec la page",
  ],
  sureForgetExercises: [
    "Delete {n} {n:exercise/exercises}?",
    "{n}問を削除しますか？",
    "Supprimer {n} {n:exercice/exercices} ?",
  ],
  exerciseFind: ["find the best move.", "最善手は？", "trouvez le meilleur coup."],
  exerciseRight: ["{move} is right.", "{move}、正解です。", "{move} est juste."],
  exerciseWrong: ["{move} is wrong.", "{move}は不正解です。", "{move} est faux."],
  goBack: ["Go back", "戻る", "Revenir"],
  wrong: ["wrong", "不正解", "faux"],
  exerciseHint: ["The move is in column {column}.", "{column}列です。", "Le coup est dans la colonne {column}."],
  // A game in which one learns
  play: ["Play", "対局", "Jouer"],
  never: ["never", "しない", "jamais"],
  learn: ["Learn", "指導対局", "Apprendre"],
  learnAbout: [
    "Play on a marked square: discs between yours turn over, and whoever has more at the end wins. If you like, you " +
      "are warned before a move that gives much away, and can see why.",
    "印のマスに打つと挟んだ石が返り、最後に石の多い方が勝ちです。ご希望なら、大きく損な手の前に警告し、理由も示します。",
    "Jouez sur une case marquée : les pions encadrés se retournent, et qui en a le plus gagne. Si vous voulez, vous " +
      "êtes prévenu avant un coup qui perd beaucoup, et voyez pourquoi.",
  ],
  youPlay: ["You play", "あなたの色", "Vous jouez"],
  blackBegins: ["Black (begins)", "黒（先手）", "Noirs (commencent)"],
  opponent: ["Opponent", "相手", "Adversaire"],
  rated: ["rated {rating}", "レート{rating}", "classé {rating}"],
  ratedScale: ["ratings of tournaments, mean 1500", "大会のレート（平均1500）", "classement de tournois, moyenne 1500"],
  keepsClose: ["an engine that keeps the game close", "接戦にするエンジン", "un moteur qui garde la partie serrée"],
  closeName: ["the close one", "接戦エンジン", "le moteur serré"],
  ratedLeast: ["rated {rating} (easiest)", "レート{rating}（最も易しい）", "classé {rating} (le plus facile)"],
  warnOf: ["Warn of a loss of", "警告する損失", "Prévenir d'une perte de"],
  orMore: ["{n} discs or more", "{n}石以上", "{n} pions ou plus"],
  startGame: ["Start the game", "対局開始", "Commencer"],
  lessonOn: [
    "You are warned before a move that gives away {n} {n:disc/discs} or more.",
    "{n}石以上損な手の前に警告します。",
    "Vous êtes prévenu avant un coup qui perd {n} {n:pion/pions} ou plus.",
  ],
  lessonEnd: ["End lesson", "指導終了", "Finir la leçon"],
  you: ["You", "あなた", "Vous"],
  looksAt: ["One moment: {move} is looked at …", "{move}を確認中…", "Un instant : {move} est examiné …"],
  prepares: [
    "The engine is being prepared; the first time this takes about a minute.",
    "エンジンを準備中です。初回は1分ほどかかります。",
    "Le moteur se prépare ; la première fois, cela prend environ une minute.",
  ],
  warns: [
    "{move} gives away about {n} {n:disc/discs}.",
    "{move}は約{n}石の損です。",
    "{move} perd environ {n} {n:pion/pions}.",
  ],
  warnsExact: ["{move} gives away {n} {n:disc/discs}.", "{move}は{n}石の損です。", "{move} perd {n} {n:pion/pions}."],
  takeBack: ["Take back", "戻す", "Reprendre le coup"],
  showWhy: ["Show why", "理由を見る", "Voir pourquoi"],
  showBetter: ["Better move", "良い手", "Meilleur coup"],
  playAnyway: ["Play it anyway", "それでも打つ", "Jouer quand même"],
  playInstead: ["Play {move} instead", "代わりに{move}を打つ", "Jouer plutôt {move}"],
  pressMove: [
    "Press a move to see its position.",
    "手を押すとその局面になります。",
    "Pressez un coup pour voir sa position.",
  ],
  isBetter: ["{move} is better.", "{move}が優ります。", "{move} est meilleur."],
  reason: [
    "{text}",
    "{kind}：{move}ならあなた{own}、{side}{others}。{instead}ならあなた{better}、{side}{worse}。",
    "{kind} : après {move}, vous {own}, les {side} {others} ; après {instead}, vous {better}, les {side} {worse}.",
  ],
  endsWith: [
    "{first}: {end} at the end; {second}: {otherwise}.",
    "終局では{first}なら{end}、{second}なら{otherwise}です。",
    "{first} : {end} à la fin ; {second} : {otherwise}.",
  ],
  endsAt: ["{move}: {end} at the end.", "{move}なら終局では{end}です。", "{move} : {end} à la fin."],
  ahead: ["{n} {n:disc/discs} ahead", "{n}石勝ち", "{n} {n:pion/pions} d'avance"],
  behind: ["{n} {n:disc/discs} behind", "{n}石負け", "{n} {n:pion/pions} de retard"],
  even: ["even", "引き分け", "égalité"],
  noWarnings: [
    "No move of yours gave away {n} {n:disc/discs} or more.",
    "{n}石以上損な手はありませんでした。",
    "Aucun de vos coups n'a perdu {n} {n:pion/pions} ou plus.",
  ],
  avoided: [
    "You avoided {n} {n:mistake/mistakes} that would have lost {m} {m:disc/discs}.",
    "避けた悪手は{n}手（{m}石）。",
    "Vous avez évité {n} {n:faute/fautes} qui auraient perdu {m} {m:pion/pions}.",
  ],
  made: [
    "You made {n} {n:mistake/mistakes} that lost {m} {m:disc/discs}.",
    "打った悪手は{n}手（{m}石）。",
    "Vous avez fait {n} {n:faute/fautes} qui ont perdu {m} {m:pion/pions}.",
  ],
  playAgain: ["Play again", "もう一局", "Rejouer"],
  // Practice
  panePractice: ["Practice", "定石練習", "Entraînement"],
  nextAsked: ["Next exercise or line", "次の問題・進行", "Exercice ou ligne suivante"],
  practise: ["Practise from here", "この局面から練習", "S'entraîner d'ici"],
  nextLine: ["Next line", "次の進行", "Ligne suivante"],
  practiceSource: ["Moves of", "出題元", "Coups de"],
  bothSides: ["both in turn", "交互に両方", "les deux, à tour de rôle"],
  practiceMoves: ["Moves of a line", "進行の長さ（手）", "Coups par ligne"],
  practiceMargin: ["Discs below the best", "最善との差（石）", "Pions sous le meilleur"],
  practiceGames: ["Least games", "最少対局数", "Parties au moins"],
  practiceReady: [
    "Go to the position where your lines begin and press “Practise from here”; it takes the place of the game on the " +
      "board.",
    "練習を始める局面に進み「この局面から練習」を押してください。盤上の対局は置き換わります。",
    "Allez à la position de départ, puis « S'entraîner d'ici » ; la partie du plateau est remplacée.",
  ],
  practiceFindBook: ["find the book's move.", "定石の手は？", "trouvez le coup du livre."],
  practiceFindGames: ["find a move that people play most.", "実戦で多い手は？", "trouvez un des coups les plus joués."],
  practiceNoBook: [
    "The book has no line from here.",
    "この局面からの進行は定石にありません。",
    "Le livre n'a pas de ligne d'ici.",
  ],
  practiceNoGames: [
    "There is no line from here: too few games.",
    "対局が少なく、この局面からの進行はありません。",
    "Pas de ligne d'ici : trop peu de parties.",
  ],
  practiceWrong: [
    "{move} is wrong. Right: {right}.",
    "{move}は不正解。正解：{right}",
    "{move} est faux. Juste : {right}.",
  ],
  practiceRight: [
    "Right: {move}, {n} {n:disc/discs} below the best.",
    "正解：{move}（最善との差{n}石）。",
    "Juste : {move}, {n} {n:pion/pions} sous le meilleur.",
  ],
  practiceAll: [
    "You know all {n} {n:line/lines}; the next is due in {d} {d:day/days}.",
    "全{n}進行を習得しました。次の復習は{d}日後です。",
    "Vous savez toutes les {n} {n:ligne/lignes} ; la prochaine revient dans {d} {d:jour/jours}.",
  ],
  practiceAway: ["The line is elsewhere.", "進行の局面ではありません。", "La ligne est ailleurs."],
  practiceDone: [
    "Without a mistake: this line comes again in {n} {n:day/days}.",
    "全問正解：{n}日後に復習します。",
    "Sans faute : cette ligne revient dans {n} {n:jour/jours}.",
  ],
  practiceMissed: [
    "The line ends here; after a mistake it comes again.",
    "終了。誤りがあったので、また出題します。",
    "Fin de la ligne ; elle revient après une faute.",
  ],
  practiceCount: [
    "{n} {n:line/lines}, {m} known, {k} due",
    "{n}進行、習得{m}、復習{k}",
    "{n} {n:ligne/lignes}, {m} {m:sue/sues}, {k} à revoir",
  ],
  sureForgetLines: [
    "Forget {n} {n:line/lines}? {what}",
    "{n}進行を削除しますか？ {what}",
    "Oublier {n} {n:ligne/lignes} ? {what}",
  ],
  // Jobs and server
  jobs: ["Jobs", "ジョブ", "Tâches"],
  noJobs: ["No jobs.", "ジョブはありません。", "Aucune tâche."],
  jobProgress: ["{phase} {done} of {total}", "{phase} {done} / {total}", "{phase} {done} sur {total}"],
  jobRound: ["round {n}", "{n}巡目", "tour {n}"],
  jobSearches: ["{n} {n:search/searches}", "探索{n}回", "{n} {n:recherche/recherches}"],
  jobRate: ["{n} a second", "毎秒{n}", "{n} par seconde"],
  jobLeft: ["about {n} s left of this step", "この段階は残り約{n}秒", "environ {n} s pour cette étape"],
  jobAdded: ["{n} {n:position/positions} added", "{n}局面追加", "{n} {n:position ajoutée/positions ajoutées}"],
  jobChanged: ["{n} changed", "{n}局面変更", "{n} {n:modifiée/modifiées}"],
  stateQueued: ["waits", "待機中", "en attente"],
  stateRunning: ["runs", "実行中", "en cours"],
  stateDone: ["done", "完了", "terminée"],
  stateCancelled: ["stopped", "停止", "arrêtée"],
  stateFailed: ["failed", "失敗", "échouée"],
  status: ["Status", "状態", "État"],
  searches: [
    "{n} searching, {m} waiting, {t} {t:thread/threads}",
    "探索{n}、待機{m}、スレッド{t}",
    "{n} en recherche, {m} en attente, {t} {t:fil/fils}",
  ],
  clients: [
    "{n} {n:client/clients}, {m} MB, up {t}",
    "クライアント{n}、{m} MB、稼働{t}",
    "{n} {n:client/clients}, {m} Mo, depuis {t}",
  ],
  who: [
    "{key}: {n} in flight, {s} s searched",
    "{key}：処理中{n}、探索{s}秒",
    "{key} : {n} en cours, {s} s de recherche",
  ],
  log: ["Last messages", "最近の通信", "Derniers messages"],
  connected: ["connected", "接続中", "connecté"],
  disconnected: ["Reconnecting...", "エンジンに再接続中", "moteur absent ; nouvel essai"],
  shut: [
    "The gateway does not know this browser any more: open the address that desdaemon web has printed. What you " +
      "entered is kept.",
    "もう一度 desdaemon web が表示したアドレスを開いてください。入力内容は保存されています。",
    "Ouvrez à nouveau l'adresse affichée par desdaemon web. Vos saisies sont gardées.",
  ],
  version: ["{name} {version}; {may}", "{name} {version}、{may}", "{name} {version} ; {may}"],
  mayRead: ["you may read the book, not change it", "定石は閲覧のみできます", "vous pouvez lire le livre sans le modifier"],
  mayEdit: ["you may change the book", "定石を変更できます", "vous pouvez modifier le livre"],
  // Games
  paste: [
    "Paste or drop a game or a board of any kind",
    "棋譜や局面を貼り付け・ドロップ",
    "Collez ou déposez une partie ou une position",
  ],
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
  keptNone: [
    "Games that you play or open stand here.",
    "対局した棋譜や開いた棋譜がここに並びます。",
    "Les parties jouées ou ouvertes sont rangées ici.",
  ],
  kept: ["Saved games", "このブラウザに保存", "Gardées dans ce navigateur"],
  read: ["{n} {n:game/games} read", "{n}局読み込み", "{n} {n:partie lue/parties lues}"],
  damaged: [
    "{name} is damaged: it cannot be unpacked",
    "{name} は壊れていて展開できません",
    "{name} est abîmé : impossible de le décompresser",
  ],
  full: [
    "this browser has room for {n} of them: the others go with the page",
    "このブラウザに保存できるのは{n}局までで、残りはページを閉じると消えます",
    "ce navigateur n'a de place que pour {n} d'entre elles : les autres partent avec la page",
  ],
  unreadable: [
    "What could not be read in this browser's storage was put aside: {what}",
    "このブラウザに保存されたデータのうち読めないものを別に移しました：{what}",
    "Mis de côté, faute de pouvoir le lire dans ce navigateur : {what}",
  ],
  players: ["Players", "対局者", "Joueurs"],
  date: ["Date", "日付", "Date"],
  namesAlone: [
    "Names of players (.jou) or tournaments (.trn): choose the .wtb file together with them.",
    "選手名（.jou）・大会名（.trn）は .wtb と一緒に選択してください。",
    "Noms de joueurs (.jou) ou de tournois (.trn) : choisissez le .wtb avec eux.",
  ],
  keptSome: ["Showing the first {n} of {m} games", "{m}局中{n}局を表示", "Les {n} premières de {m} parties"],
  keptCount: ["{n} {n:game/games}", "{n}局", "{n} {n:partie/parties}"],
  showMore: ["Show more", "さらに表示", "En montrer plus"],
  filter: ["Search: player, event or moves", "検索：対局者・大会・着手", "Chercher : joueur, tournoi ou coups"],
  removeAll: ["Delete all", "全て削除", "Tout supprimer"],
  // Set-up
  setupBlack: ["Black discs", "黒石", "Pions noirs"],
  setupWhite: ["White discs", "白石", "Pions blancs"],
  setupEmpty: ["Empty", "消す", "Vide"],
  setupClear: ["Clear", "全消去", "Vider"],
  setupStart: ["Start position", "初期配置", "Position initiale"],
  setupHelp: [
    "Choose a disc (b, w, x) and press squares.",
    "石を選び（b, w, x）マスを押してください。",
    "Choisissez un pion (b, w, x) et les cases.",
  ],
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
  strength: ["The engine plays", "エンジンの指し方", "Le moteur joue"],
  atLevel: ["as its level says", "レベルどおり", "à son niveau"],
  stayClose: ["so that the game stays close", "接戦になるように", "pour garder la partie serrée"],
  asPeople: ["as people rated {rating}", "レート{rating}の人のように", "comme les joueurs classés {rating}"],
  contempt: ["Discs it may give up to set traps", "罠のために譲れる石数", "Pions à céder pour tendre des pièges"],
  minutes: ["Minutes a side (0: no limit)", "持ち時間（分、0は無制限）", "Minutes par camp (0 : sans limite)"],
  speakHints: ["Read hints aloud (screen readers)", "読み上げに評価値を含める", "Les cases disent leurs indices"],
  letters: ["Letter keys", "文字キー操作", "Touches lettres"],
};

/** What the engine counts for a reason, by its kind; in English its own sentences are shown.
 * @type {Record<string, [string, string]>} */
const KINDS = {
  "corner": ["隅につながる辺の石", "Pions de bord tenus depuis un coin"],
  "x-square": ["空いた隅の隣のX打ち", "Coups en case X près d'un coin vide"],
  "c-square": ["空いた隅の隣のC打ち", "Coups en case C près d'un coin vide"],
  "moves": ["打てる場所（進行の平均）", "Coups possibles, en moyenne"],
  "room": ["相手の石の隣の空き", "Cases vides près des pions adverses"],
  "opens": ["相手に開く場所", "Cases ouvertes à l'adversaire"],
  "wall": ["空きに接する石", "Pions au contact de cases vides"],
  "taken": ["相手に先着された最善手", "Meilleur coup pris par l'adversaire"],
  "quiet": ["返す石の周りの空き", "Cases vides autour des pions retournés"],
  "wedge": ["辺へのくさび", "Coups entre deux pions adverses du bord"],
  "free": ["余裕手", "Coups libres, qui n'ouvrent rien"],
  "pass": ["パス", "Passes"],
  "early": ["石（早い段階）", "Pions, trop tôt"],
  "last": ["最後に打てる空き領域", "Régions où l'on joue le dernier coup"],
  "turns": ["終局までに返る石", "Pions retournés jusqu'à la fin"],
};

let language = "en";

/** @param {string} wanted a key of `LANGUAGES`, or "" for the browser's */
export function choose(wanted) {
  const known = Object.keys(LANGUAGES);
  language = known.includes(wanted)
    ? wanted
    : ((navigator.languages ?? []).map((one) => one.slice(0, 2)).find((one) => known.includes(one)) ?? "en");
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-t]")) {
    const name = /** @type {HTMLElement} */ (element).dataset.t ?? "";
    element.textContent = t(name);
    if (TEXTS[`${name}About`]) element.setAttribute("title", t(`${name}About`));
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    const text = t(/** @type {HTMLElement} */ (element).dataset.label ?? "");
    element.setAttribute(element.matches("input, textarea") ? "placeholder" : "title", text);
    element.setAttribute("aria-label", text);
  }
}

/** @param {import("../model/rules.js").Side} side */
export const sideName = (side) => t(side === "X" ? "nameBlack" : "nameWhite");

/** Return who is to move and the last move or, at its end, how a game ended.
 * @param {import("../model/game.js").Game} game */
export function turnText({ now, over }) {
  if (over) return resultText({ now });
  const move = now.move === PASS ? t("passed", { side: sideName(other(now.side)) }) : now.move;
  return `${now.ply ? `${now.ply}. ${move} · ` : ""}${t(now.side === "X" ? "blackTurn" : "whiteTurn")}`;
}

/** Return how a game ended. @param {Pick<import("../model/game.js").Game, "now">} game */
export function resultText({ now }) {
  const score = finalScore(now.cells);
  const result = score ? t(score > 0 ? "blackWins" : "whiteWins", { n: Math.abs(score) }) : t("draw");
  return t("gameOver", { result });
}

/** Return a job's changes of the book. @param {any} data */
export function changesText({ added, changed }) {
  return [...(added ? [t("jobAdded", { n: added })] : []), ...(changed ? [t("jobChanged", { n: changed })] : [])];
}

export const chosen = () => language;

/** Return a text in the chosen language. `{n}` is a value, `{n:one/many}` the word for that number; in French 0 is
 * singular.
 * @param {string} name @param {Record<string, string|number>} [values] */
export function t(name, values = {}) {
  const text = TEXTS[name]?.[Object.keys(LANGUAGES).indexOf(language)] ?? name;
  const single = (/** @type {any} */ count) => (language === "fr" ? Math.abs(count) < 2 : Number(count) === 1);
  return text.replace(/\{(\w+)(?::([^/}]*)\/([^}]*))?\}/g, (whole, key, one, many) =>
    many === undefined ? String(values[key] ?? whole) : single(values[key]) ? one : many,
  );
}

/** Return a reason as the engine's sentence or, in another language, as what it counts.
 * @param {import("./why.js").Reason} reason
 * @param {{side: string, move: string, instead: string}} about the other side's name, the move and the better one */
export function reasonText({ kind, text, played, best }, about) {
  const name = KINDS[kind]?.[language === "ja" ? 0 : 1] ?? kind;
  return t("reason", {
    ...about,
    text,
    kind: name,
    own: played[0],
    others: played[1],
    better: best[0],
    worse: best[1],
  });
}
