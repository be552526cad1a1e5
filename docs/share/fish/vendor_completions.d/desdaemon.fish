# fish completion for desdaemon, made by `desdaemon completions fish`
complete -c desdaemon -n '__fish_use_subcommand' -a analyze -d 'report on a game of a file'
complete -c desdaemon -n '__fish_use_subcommand' -a exercises -d 'positions of games where the one good move was missed'
complete -c desdaemon -n '__fish_use_subcommand' -a web -d 'a board in the browser'
complete -c desdaemon -n '__fish_use_subcommand' -a cluster -d 'search on many machines: scheduler, worker, status'
complete -c desdaemon -n '__fish_use_subcommand' -a match -d 'two programs play each other'
complete -c desdaemon -n '__fish_use_subcommand' -a bot -d 'a program plays on PlayStrategy'
complete -c desdaemon -n '__fish_use_subcommand' -a ggs -d 'play on the Generic Game Server'
complete -c desdaemon -n '__fish_use_subcommand' -a serve -d 'answer clients over sockets'
complete -c desdaemon -n '__fish_use_subcommand' -a shell -d 'a prompt for a daemon, here or elsewhere'
complete -c desdaemon -n '__fish_use_subcommand' -a keys -d 'who may connect to the server: new, list, allow, revoke'
complete -c desdaemon -n '__fish_use_subcommand' -a games -d 'index bases of games: what people played in a position'
complete -c desdaemon -n '__fish_use_subcommand' -a perft -d 'count the lines of play to a depth'
complete -c desdaemon -n '__fish_use_subcommand' -a count -d 'count games, positions, shapes, flips, draws, Stoners'
complete -c desdaemon -n '__fish_use_subcommand' -a bench -d 'measure the engine'
complete -c desdaemon -n '__fish_use_subcommand' -a train -d 'make evaluation weights'
complete -c desdaemon -n '__fish_use_subcommand' -a kernels -d 'list the compiled kernels, show the code of one'
complete -c desdaemon -n '__fish_use_subcommand' -a warmup -d 'compile the engine and the book now'
complete -c desdaemon -n '__fish_use_subcommand' -a doctor -d 'check what works here, what is missing, how to mend it'
complete -c desdaemon -n '__fish_use_subcommand' -a completions -d 'completions for bash, zsh or fish, and the man page'
complete -c desdaemon -n '__fish_use_subcommand' -a help -d 'a command, an option or a program'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l game -r -d 'the game of that number in the file, from 1'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l player -r -d 'games of a player whose name contains this'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l all -d 'all of these games, not only the first'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l summary -d 'one report on the player\'s games in files and folders'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l list -d 'only list the games'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l level -r -d 'level of the search (default 16)'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l depth -r -d 'plies to search, instead of a level'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l time -r -d 'seconds a position, instead of a level'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l book -r -d 'whether the book may answer'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l html -r -d 'write a page with board and graph; with --all a folder of pages'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l json -r -d 'write the analysis as JSON; with --all a line a game'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l csv -r -d 'write a line of figures a game'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l save -r -d 'write the games with comments, in the format of the name (sgf ggf pgn)'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l board -r -d 'link the page\'s positions to a board; {moves} and {board} in it are filled in'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l threads -r -d 'positions to search at a time'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l eval-file -r -d 'evaluation weights'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l server -r -d 'ask a daemon that runs; without a name, this user\'s'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l key -r -d 'this client\'s key for the server, made by desdaemon keys new'
complete -c desdaemon -n '__fish_seen_subcommand_from analyze' -l server-key -r -d 'the server\'s public key, if the key file lacks it'
complete -c desdaemon -n '__fish_seen_subcommand_from exercises' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from exercises' -l player -r -d 'only moves of this player'
complete -c desdaemon -n '__fish_seen_subcommand_from exercises' -l count -r -d 'exercises at most (default 200)'
complete -c desdaemon -n '__fish_seen_subcommand_from exercises' -l level -r -d 'level of the check (default 16)'
complete -c desdaemon -n '__fish_seen_subcommand_from exercises' -l out -r -d 'write .obf, .sgf, .html by its name (default: OBF, printed)'
complete -c desdaemon -n '__fish_seen_subcommand_from exercises' -l threads -r -d 'positions to search at a time'
complete -c desdaemon -n '__fish_seen_subcommand_from exercises' -l eval-file -r -d 'evaluation weights'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l key -r -d 'this client\'s key for that daemon, made by desdaemon keys new'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l server-key -r -d 'that daemon\'s public key, if the key file lacks it'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l book -r -d 'the book of the daemon that is started; by default the one that ships'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l threads -r -d 'search threads of the daemon that is started'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l eval-file -r -d 'evaluation weights of the daemon that is started'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l listen -r -d 'HOST, HOST:PORT or :PORT for browsers; by default this machine alone, port 6480'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l host-name -r -d 'another name that browsers use for this host'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l role -r -d 'editor may change the book; reader beyond this machine'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l watch -r -d 'show the pages of desdaemon match --page FOLDER at /match/'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l tls-certificate -r -d 'serve https with this certificate'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l tls-key -r -d 'its key, if not in the same file'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l revoke -d 'ask again the browsers that earlier starts have let in'
complete -c desdaemon -n '__fish_seen_subcommand_from web' -l no-browser -d 'do not open a browser'
complete -c desdaemon -n '__fish_seen_subcommand_from cluster' -a scheduler
complete -c desdaemon -n '__fish_seen_subcommand_from cluster' -a worker
complete -c desdaemon -n '__fish_seen_subcommand_from cluster' -a keys
complete -c desdaemon -n '__fish_seen_subcommand_from cluster' -a status
complete -c desdaemon -n '__fish_seen_subcommand_from cluster' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l protocol -r -d 'gtp, nboard, text or auto, which asks the program (default)'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l names -r -d 'what to call them'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l tournament -r -d 'of more than two programs: each against each (default), the first against the others, or each against the next'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l games -r -d 'games of each two programs; default 20, or every opening of the file with both colours'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l openings -r -d 'begin with these games (txt ggf sgf pgn wtb edx ndjson) or positions (obf fen epd), or with a list of XOT (xot xot-small)'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l plies -r -d 'most moves to play of an opening of the file'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l seed -r -d 'which of the listed openings of 8 moves, or of XOT, without a file'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l move-time -r -d 'seconds for each move'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l clock -r -d 'seconds for a game, and seconds added after each move'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l level -r -d 'level to tell the program (not possible in GTP)'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l margin -r -d 'grace period per move, ms; default 0'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l patience -r -d 'seconds that a move without a limit may take; default 600'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l adjudicate -r -d 'end games at N empty squares with their exact score, 0 to 24'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l concurrency -r -d 'games at a time; cores is one for each core, or for the threads of a program'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l sprt -r -d 'stop once games decide between these Elo differences (--sprt=-5,0)'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l tune -r -d 'of self alone: tune this option by games (default 1000) between two of its values; repeatable'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l journal -r -d 'keep the games there; repeat the command to continue'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l save -r -d 'write the games to this file at the end, in the format of its name'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l book-results -r -d 'add the games to this book at the end, count their results and learn from them'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l json -r -d 'write the account as JSON; - is standard output instead of the table'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l page -r -d 'write pages there that show the match, also while it runs'
complete -c desdaemon -n '__fish_seen_subcommand_from match' -l log -r -d 'write each program\'s dialogue and its standard error there'
complete -c desdaemon -n '__fish_seen_subcommand_from bot' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from bot' -l accept -r -d 'people, bots, names of players: a list with commas'
complete -c desdaemon -n '__fish_seen_subcommand_from bot' -l rated -d 'accept rated games too'
complete -c desdaemon -n '__fish_seen_subcommand_from bot' -l clock -r -d 'seconds at the start of a game (default 60:3600)'
complete -c desdaemon -n '__fish_seen_subcommand_from bot' -l most -r -d 'games at a time (default 1)'
complete -c desdaemon -n '__fish_seen_subcommand_from bot' -l engine -r -d 'the program\'s command line (default: this program)'
complete -c desdaemon -n '__fish_seen_subcommand_from bot' -l games -r -d 'append finished games to a file, such as games.ggf'
complete -c desdaemon -n '__fish_seen_subcommand_from bot' -l upgrade -d 'make the account a bot\'s, for good, before its first game'
complete -c desdaemon -n '__fish_seen_subcommand_from bot' -l server -r -d 'the site (default https://playstrategy.org)'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l login -r -d 'the name on the server'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l password-file -r -d 'the password, in a file of mode 0600; asked for without'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l tls -d 'encrypt, where the server can'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l accept -r -d 'accept requests of these types: 8,s8r* (with * ? [...])'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l clock -r -d 'time at the beginning to accept (default 1:00-30:00)'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l opponents -r -d 'accept their requests only'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l rated -d 'rated matches too'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l offer -r -d 'ask for this whenever idle: "s8r14 5:00//2:00", with a name or not'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l matches -r -d 'end after this many'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l level -r -d 'strength, besides the clock'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l threads -r -d 'search threads; each board of a pair gets half of them'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l eval-file -r -d 'evaluation weights'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l book -r -d 'play from this book, builtin for the one that ships'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l margin -r -d 'seconds to keep on the clock (default 5)'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l games -r -d 'add the records of finished matches to this file (GGF)'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l book-results -r -d 'at the end add the games of --games to this book, count their results and learn from them'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l log -r -d 'add the dialogue to this file, without the password'
complete -c desdaemon -n '__fish_seen_subcommand_from ggs' -l tell -d 'tell the watchers of a board what was searched; the opponent reads it too'
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l bind -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l ipc -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l keys -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l insecure -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l data -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l limit -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l supervise -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l metrics -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l on-job-end -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l backup-every -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l backup-keep -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l backup-bytes -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l log-level -r
complete -c desdaemon -n '__fish_seen_subcommand_from serve' -l log-format -r
complete -c desdaemon -n '__fish_seen_subcommand_from shell' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from shell' -l key -r -d 'this client\'s key, made by desdaemon keys new'
complete -c desdaemon -n '__fish_seen_subcommand_from shell' -l server-key -r -d 'the daemon\'s public key, if the key file lacks it'
complete -c desdaemon -n '__fish_seen_subcommand_from shell' -l timeout -r -d 'seconds to wait for it (default 5)'
complete -c desdaemon -n '__fish_seen_subcommand_from shell' -o c -r -d 'carry out this line; repeatable'
complete -c desdaemon -n '__fish_seen_subcommand_from shell' -l json -d 'lines are operations: analyze {"moves": "f5", "level": 9}'
complete -c desdaemon -n '__fish_seen_subcommand_from keys' -a new
complete -c desdaemon -n '__fish_seen_subcommand_from keys' -a list
complete -c desdaemon -n '__fish_seen_subcommand_from keys' -a allow
complete -c desdaemon -n '__fish_seen_subcommand_from keys' -a revoke
complete -c desdaemon -n '__fish_seen_subcommand_from keys' -l role -r
complete -c desdaemon -n '__fish_seen_subcommand_from keys' -l file -r
complete -c desdaemon -n '__fish_seen_subcommand_from keys' -l keys -r
complete -c desdaemon -n '__fish_seen_subcommand_from games' -a index
complete -c desdaemon -n '__fish_seen_subcommand_from games' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from perft' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from perft' -l mode -r -d '1: a pass is a ply (default), 2: it is not'
complete -c desdaemon -n '__fish_seen_subcommand_from count' -a games
complete -c desdaemon -n '__fish_seen_subcommand_from count' -a shapes
complete -c desdaemon -n '__fish_seen_subcommand_from count' -a positions
complete -c desdaemon -n '__fish_seen_subcommand_from count' -a flips
complete -c desdaemon -n '__fish_seen_subcommand_from count' -a draws
complete -c desdaemon -n '__fish_seen_subcommand_from count' -a stoner
complete -c desdaemon -n '__fish_seen_subcommand_from count' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from bench' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from bench' -l problems -r -d 'folder of OBF files'
complete -c desdaemon -n '__fish_seen_subcommand_from bench' -l eval-file -r -d 'weights other than the shipped ones'
complete -c desdaemon -n '__fish_seen_subcommand_from bench' -l repeat -r -d 'runs of which the median counts (3)'
complete -c desdaemon -n '__fish_seen_subcommand_from bench' -l threads -r -d 'threads: their numbers (2)'
complete -c desdaemon -n '__fish_seen_subcommand_from bench' -l level -r -d 'threads: level of the selective searches (21)'
complete -c desdaemon -n '__fish_seen_subcommand_from bench' -l json -d 'one JSON object instead of a table'
complete -c desdaemon -n '__fish_seen_subcommand_from bench' -a book -d 'measure the opening book'
complete -c desdaemon -n '__fish_seen_subcommand_from bench' -a server -d 'measure a server under load'
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a games
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a positions
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a label
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a adjudicate
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a calibrate
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a fit
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a fit-network
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a validate
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a match
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a probcut
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a install
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a tempo
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a policy
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a export
complete -c desdaemon -n '__fish_seen_subcommand_from train' -a import
complete -c desdaemon -n '__fish_seen_subcommand_from train' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from kernels' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from kernels' -l ir -d 'LLVM code after optimisation, as far as it was not inlined'
complete -c desdaemon -n '__fish_seen_subcommand_from kernels' -l lowered -d 'LLVM code before optimisation (the default)'
complete -c desdaemon -n '__fish_seen_subcommand_from kernels' -l asm -d 'assembly, as far as it was not inlined'
complete -c desdaemon -n '__fish_seen_subcommand_from warmup' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from warmup' -l check -d 'only look: exit 1 if anything is missing'
complete -c desdaemon -n '__fish_seen_subcommand_from doctor' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_seen_subcommand_from doctor' -l json -d 'one JSON object'
complete -c desdaemon -n '__fish_seen_subcommand_from doctor' -l quick -d 'compile nothing and start no search'
complete -c desdaemon -n '__fish_seen_subcommand_from doctor' -l bind -r -d 'an endpoint such as tcp://127.0.0.1:6464'
complete -c desdaemon -n '__fish_seen_subcommand_from doctor' -l eval-file -r -d 'the weights, if not those of the configuration'
complete -c desdaemon -n '__fish_seen_subcommand_from doctor' -l book -r -d 'the book, if not that of the configuration'
complete -c desdaemon -n '__fish_seen_subcommand_from completions' -a bash
complete -c desdaemon -n '__fish_seen_subcommand_from completions' -a zsh
complete -c desdaemon -n '__fish_seen_subcommand_from completions' -a fish
complete -c desdaemon -n '__fish_seen_subcommand_from completions' -a man
complete -c desdaemon -n '__fish_seen_subcommand_from completions' -l help -d 'show this help message and exit'
complete -c desdaemon -n '__fish_use_subcommand' -l help -d 'what there is'
complete -c desdaemon -n '__fish_use_subcommand' -l version -d 'name and version'
complete -c desdaemon -n '__fish_use_subcommand' -l config -r -d 'read options from this TOML file, none reads no file'
complete -c desdaemon -n '__fish_use_subcommand' -l zmq -d 'sockets for other clients beside the dialogue'
complete -c desdaemon -n '__fish_use_subcommand' -o gtp -d 'speak gtp on the standard streams'
complete -c desdaemon -n '__fish_use_subcommand' -o nboard -d 'speak nboard on the standard streams'
complete -c desdaemon -n '__fish_use_subcommand' -o xboard -d 'speak xboard on the standard streams'
complete -c desdaemon -n '__fish_use_subcommand' -o cassio -d 'speak cassio on the standard streams'
complete -c desdaemon -n '__fish_use_subcommand' -o json -d 'speak json on the standard streams'
complete -c desdaemon -n '__fish_use_subcommand' -o solve -r -d 'solve the problems of a file'
complete -c desdaemon -n '__fish_use_subcommand' -o wtest -r -d 'check a WTHOR file'
complete -c desdaemon -n '__fish_use_subcommand' -o option-file -r -d 'read options'
complete -c desdaemon -n '__fish_use_subcommand' -o level -r -d 'Strength, as Edax\'s levels'
complete -c desdaemon -n '__fish_use_subcommand' -o strength -r -d 'Play and err as people of this rating do, 800 to 2700, without book; 0 is off'
complete -c desdaemon -n '__fish_use_subcommand' -o strength-seed -r -d 'Seed of the moves that strength draws; 0 makes them different each time'
complete -c desdaemon -n '__fish_use_subcommand' -o depth -r -d 'Search depth in plies instead of the level\'s; -1 follows the level'
complete -c desdaemon -n '__fish_use_subcommand' -o selectivity -r -d 'Selectivity of the search instead of the level\'s'
complete -c desdaemon -n '__fish_use_subcommand' -o nodes -r -d 'Most nodes for one search; 0 is no limit'
complete -c desdaemon -n '__fish_use_subcommand' -o move-time -r -d 'Time for each move'
complete -c desdaemon -n '__fish_use_subcommand' -o game-time -r -d 'Time for all moves of a game, for each side'
complete -c desdaemon -n '__fish_use_subcommand' -o speed -r -d 'Nodes a second that the plan for the time of a game assumes'
complete -c desdaemon -n '__fish_use_subcommand' -o alpha -r -d 'Lower end of the search window, discs'
complete -c desdaemon -n '__fish_use_subcommand' -o beta -r -d 'Upper end of the search window, discs'
complete -c desdaemon -n '__fish_use_subcommand' -o mode -r -d 'Who moves by itself: 0 White, 1 Black, 2 both sides, 3 neither'
complete -c desdaemon -n '__fish_use_subcommand' -o n-tasks -r -d 'Search threads, at most the number of available processors; 0 means all of them'
complete -c desdaemon -n '__fish_use_subcommand' -o deterministic -d 'Search with one thread, whatever n-tasks says: answers are then the same on every machine'
complete -c desdaemon -n '__fish_use_subcommand' -o hash-table-size -r -d 'Size of the transposition table, as a power of two'
complete -c desdaemon -n '__fish_use_subcommand' -o eval-file -r -d 'Evaluation weights, as Edax\'s eval.dat, instead of the built-in ones'
complete -c desdaemon -n '__fish_use_subcommand' -o verbose -r -d '0 answers only, 1 board and final lines, 2 to 4 a line for each iteration'
complete -c desdaemon -n '__fish_use_subcommand' -o q -d 'Same as verbose 0 (command line and option file only)'
complete -c desdaemon -n '__fish_use_subcommand' -o vv -d 'Same as verbose 2 (command line and option file only)'
complete -c desdaemon -n '__fish_use_subcommand' -o noise -r -d 'Depth from which verbose 2 shows iterations'
complete -c desdaemon -n '__fish_use_subcommand' -o width -r -d 'Width of a line of the search table'
complete -c desdaemon -n '__fish_use_subcommand' -o echo -d 'Repeat each command before its answer'
complete -c desdaemon -n '__fish_use_subcommand' -o edax-compatible -d 'Announce moves as Edax does, in its name'
complete -c desdaemon -n '__fish_use_subcommand' -o pass-name -r -d 'How a pass is announced; auto: as you typed it last, else PS with edax-compatible and PA without'
complete -c desdaemon -n '__fish_use_subcommand' -o repeat -r -d 'Games to play in a row in mode 2'
complete -c desdaemon -n '__fish_use_subcommand' -o auto-start -d 'Start a new game when one is over'
complete -c desdaemon -n '__fish_use_subcommand' -o auto-swap -d 'Swap sides in modes 0 and 1 when a game is over'
complete -c desdaemon -n '__fish_use_subcommand' -o auto-quit -d 'Leave when a game is over'
complete -c desdaemon -n '__fish_use_subcommand' -o name -r -d 'Name sent to XBoard'
complete -c desdaemon -n '__fish_use_subcommand' -o ui-log-file -r -d 'Add the dialogue to this file (command line and option file only)'
complete -c desdaemon -n '__fish_use_subcommand' -o game-file -r -d 'Add finished games to this file, .ggf .txt .sgf .pgn .edx (command line and option file only)'
complete -c desdaemon -n '__fish_use_subcommand' -o search-log-file -r -d 'Add all searches to this file (command line and option file only)'
complete -c desdaemon -n '__fish_use_subcommand' -o ponder -d 'Think in the opponent\'s time: in modes 0 and 1, and in GTP, NBoard and XBoard'
complete -c desdaemon -n '__fish_use_subcommand' -o book-usage -d 'Play from the book'
complete -c desdaemon -n '__fish_use_subcommand' -o book-file -r -d 'Opening book, of any format, or builtin: the one that ships; opened once the first prompt is there'
complete -c desdaemon -n '__fish_use_subcommand' -o book-randomness -r -d 'Discs that a book move may be worse than the best'
complete -c desdaemon -n '__fish_use_subcommand' -o book-choice -r -d 'What decides among book moves: their value, the results of games, or the results within the randomness'
complete -c desdaemon -n '__fish_use_subcommand' -o book-seed -r -d 'Seed of the choices among book moves; 0 makes them different each time'
complete -c desdaemon -n '__fish_use_subcommand' -o book-reject -r -d 'Percentage of moves without the book, to learn something new'
complete -c desdaemon -n '__fish_use_subcommand' -o book-least-level -r -d 'Play only by scores of this level or above; -1 is any'
complete -c desdaemon -n '__fish_use_subcommand' -o book-registered-only -d 'Play only moves that lead into the book'
complete -c desdaemon -n '__fish_use_subcommand' -o book-learn-results -d 'When a lost game is stored, make its line less attractive to the loser'
complete -c desdaemon -n '__fish_use_subcommand' -o book-check -d 'Check whether a move outside the book is better'
complete -c desdaemon -n '__fish_use_subcommand' -o book-tasks -r -d 'Threads for the searches of book commands; 0 means all processors'
complete -c desdaemon -n '__fish_use_subcommand' -o book-memory -r -d 'MiB of memory for the positions of books; beyond it they lie in files beside the book. 0: any'
complete -c desdaemon -n '__fish_use_subcommand' -o games-file -r -d 'Index of games for games show, made by desdaemon games index; without it the one in the data folder'
complete -c desdaemon -n '__fish_use_subcommand' -o keep-going -d 'Go on with a script after a command that was not finished'
complete -c desdaemon -n '__fish_use_subcommand' -o cluster -r -d 'Search for book commands and -solve on the workers of this scheduler'
complete -c desdaemon -n '__fish_use_subcommand' -o cluster-tls -r -d 'Folder with the keys of the cluster'
complete -c desdaemon -n '__fish_use_subcommand' -o cluster-threads -r -d 'Threads of this machine that help a cluster; 0: none'
complete -c desdaemon -n '__fish_use_subcommand' -o auto-store -d 'Store each finished game in the book, and count its result'
