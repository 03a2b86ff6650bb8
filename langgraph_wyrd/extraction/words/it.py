"""Italian."""

COMMON = (
    "il lo la i gli le un una di del della dei che e in per con mio mia suo sua tuo tua mi ti "
    "si ci non ma come quale dove quando grazie ciao favore vorrei voglio puoi ho ha hai sono "
    "sei siamo questo questa quello buongiorno salve anche ora perche tutto bene o al alla "
    "nel nella dal piu gia molto cosa fare era essere stato c'e e' posso sto da su"
    " io ne l' un' dell' all' nell' sull' quell' c'"
)
YOU = (
    r"\b(?:lei|tu|ti|te|suo|sua|suoi|sue|tuo|tua|tuoi|tue|voi|vostr[oaie]|io|mi|noi|puoi|"
    r"puo|potrebbe|vuoi|vuole|preferisci|preferisce|desidera|hai|ha)\b"
)
COURTESY = (
    r"^(?:come|in cosa|in che modo) posso (?:esser\w+ )?(?:aiutar\w+|\w+ utile|utile)\b",
    r"\b(?:altro|qualcos'altro|qualche altra|altre|ulteriori) ?(?:domand[ae]|dubbi|"
    r"richiest[ae]|cosa|informazioni|in cui)?\W*$",
    r"\b(?:qualcos'altro|c'e altro|altro in cui|altre domande|ulteriori domande|"
    r"bisogno di altro|serve altro)\b",
    r"\bfare altro\b|\baltro per (?:te|lei|voi)\b|^(?:hai|ha|avete) (?:qualche )?(?:dubbi\w*|"
    r"domand\w+)\W*$|\bcos'altro\b",
    r"\b(?:prova|provi|provalo|provala|verifica|dai un'occhiata)\b.{0,40}\b(?:se (?:funziona|"
    r"va|ti piace|e a posto)|come va|cosa ne pensi)",
)
OFFERS = (
    r"^(?:e |o |oppure )?(?:vuoi|vuole|volete|desideri|ti va di|preferisci)(?: \w+re\b|\W*$)",
    r"^(?:e |o |oppure )?(?:vuoi|vuole|volete|desideri|desidera|preferisci|preferisce|"
    r"ti piacerebbe|le piacerebbe)(?: anche)? che (?:io|ti|le|lo|la|proceda)?\b",
    r"^(?:e |o |oppure )?(?:vuoi|vuole|desideri|desidera|ti piacerebbe|le piacerebbe) "
    r"\w+[aei]r(?:e|l[oaie]|ne|ti|mi)\b",
    r"^se (?:vuoi|vuole|volete|desideri|desidera|preferisci|preferisce|ti va|ti interessa|"
    r"lo desidera|lo desideri)\b",
    r"\b(?:fammi|mi faccia|dimmi|mi dica|fatemi) (?:sapere )?se (?:vuoi|vuole|desideri|"
    r"desidera|preferisci|preferisce|ti serve|le serve|devo|posso|hai bisogno)",
    r"^(?:(?:ti|le|te|lo|la|li|glielo) )*(?!attendo|aspetto|sono|solo|quando|tutto|allego|"
    r"credo|spero|voglio|secondo|posso)\w{3,}o (?:il|lo|la|i|gli|le|un|una|anche|altro)\b.*\?$",
    r"^(?:ti|le|vi) (?:va|piacerebbe|interessa|interesserebbe|serve|servono)\b|^devo (?!aiut|"
    r"chied|saper|esser|aver)\w+re\b|^che ne (?:dici|dice|pensi)\b|^(?:vuoi|vuole|volete) "
    r"(?:anche|un|una|dei|delle)\b",
    r"^(?:era|e) (?:questo|quello) (?:che|quello)\b|^(?:va|andava|ti va|le va) bene(?: "
    r"cosi)?\W*$|^ti sembra\b|^ha senso\b|^(?:e )?tutto chiaro\b",
    r"^se (?:incolli|carichi|condividi|alleghi)\b",
)
APPROVAL = (
    r"^posso (?!aiutar|anche|esser|chied|saper|aver)\w+",
    r"\b(?:posso|devo|vuoi che|vuole che) (?:io )?(?:inizi|cominci|proced|continu|part)\w*\b",
)
DEMANDS = (
    r"^(?:per favore,? |ora )(?:inserisc|indic|scegl|scelg|selezion|conferm|invi|scriv|digit|"
    r"fornisc|specific|alleg)\w+\b(?!.*\bse\b)",
    r"^(?:inserisci|inserisca|indica|indichi|conferma|confermi|scrivi|scriva) (?:il|la|i|le|l')? ?"
    r"(?:tu[oa]|tuoi|tue|su[oa]|suoi|sue)\b(?!.*\b(?:se|e|poi)\b)|^(?:scegli|scelga) un[oa]\b|"
    r"\bla prego di \w+",
    r"\b(?:mi (?:indichi|dica|invii|fornisca|comunichi|mandi|confermi|dia|specifichi|scriva)|"
    r"indicami|dimmi|inviami|mandami|forniscimi|comunicami|dammi|specificami|"
    r"scrivimi)\b(?! se (?:vuoi|vuole|hai bisogno|preferisci))",
    r"(?:^|, )(?:per [^,]{1,80},? |prima .{1,80}?, |innanzitutto,? |inoltre,? |ancora |"
    r"solo ){0,3}(?:ho|"
    r"avrei|avremo|abbiamo|avro)(?: ancora| prima| solo| anche)* bisogno (?:di|del\w*|"
    r"che)(?! (?:verificare|controllare|cercare|un (?:momento|attimo)|qualche (?:minuto|"
    r"secondo)))",
    r"\bmi (?:serve|servono|servirebbe|servirebbero|manca|mancano|occorre|occorrono)\b",
    r"\bsenza (?:il|lo|la|i|gli|le|l'|il suo|questo|questa) ?.{2,60}\bnon (?:posso|riesco|"
    r"possiamo)\b",
    r"^(?:rispondi|risponda|scrivi|scriva|digita|digiti|invia|mandi|manda|trascina|"
    r"carica)\b.{1,60}\b(?:e (?:io )?(?:lo|la|ti|procedo|\w+o)\b|qui\W*$)",
    r"^(?:prima di|per) (?:\w+ ){1,6}(?:ho|avrei) bisogno d|^per (?:\w+ ){1,5}(?:inserisc|"
    r"indic|forn|invi|scriv|selezion|compil|alleg)\w+ (?:il |la |i |le )?(?:tu[oa]|tuoi|tue|"
    r"su[oa]|suoi|sue)\b",
    r"^(?:attendo|aspetto|(?:resto|rimango|sono) in attesa|in attesa d\S+ "
    r"(?:tu|su|vostr|un tu|un su|un vostr)\w+)\b(?!.*\b(?:risposta|"
    r"conferma|riscontro) (?:del|dal|dei)\w*)|\b(?:fammi|mi faccia|fatemi) sapere (?:il|lo|la|"
    r"i|gli|le|l'|quale|quali|quando|dove|chi|a che|per quan\w+|come (?:vuoi|vuole|preferisci|"
    r"preferisce|procedere))\b|^dimmi tu\b",
    r"\bnon (?:mi )?e (?:del tutto |ancora )?chiaro (?:quale|quali|che|se|cosa|quando)\b|"
    r"^(?:ora |adesso )?manca(?:no)? (?:solo |ancora |soltanto )*(?:il|lo|la|l'|i|gli|le)\b|"
    r"^(?:serve|servono|occorre) (?:la|il) (?:tua|tuo|sua|suo)\b|^(?:scegli|scelga) un'",
    r"^(?:scrivi|scriva|rispondi|risponda|digita|digiti|clicca|clicchi|premi|"
    r"prema)\b.{1,60}\bper (?:confermare|continuare|procedere|approvare|annullare|"
    r"accettare)\b|\b(?:le|ti|vi) chied\w+ (?:solo |gentilmente |cortesemente )*di\b",
    r"^(?:il |la )?(?:tu[oa]|su[oa]) .{1,40}\bper (?:favore|cortesia|piacere)$|\b(?:mostrami|"
    r"mandamel[oa]|confermami|incollami|mi mostri|mi confermi)\b|\bincoll[ai] qui\b|^(?:per|"
    r"al fine di) (?:\w+,? ){2,8}(?:mi )?(?:indichi|indica|inserisca|fornisca|comunichi|invii|"
    r"confermi)\b",
)
NEEDS = (
    r"^se mi (?:comunica|da|dai|manda|mandi|invia|invii|passa|passi|fornisce|fornisci|dice|"
    r"dici)\b.{3,90}, (?:posso|\w+o)\b"
    r"|^con (?:questo|queste informazioni|questi dati|queste risposte),? (?:ti |le |posso |"
    r"\w+o )"
)
BEGINS = (
    r"\b(?:un (?:attimo|momento|secondo|minuto|istante)|solo un|lasciami|mi lasci|permettimi|"
    r"mi permetta|dammi un|subito)\b(?! sapere)|^(?:attendi|attenda|aspetta|aspetti)\b",
    r"\b(?:sto|stiamo) \w+ndo\b|\bsto per\b|\b(?:adesso|ora) (?:verifico|controllo|cerco|procedo|"
    r"eseguo|guardo|passo|faccio)\b",
    r"(?:^|[,;:] |\b(?:e|poi|ora|adesso|subito|intanto|frattempo|quindi|allora|anche|io|lo|la|li|"
    r"le|ti|vi) )(?:verifico|controllo|cerco|guardo|procedo (?:con|a)|mi (?:occupo|metto)|"
    r"consulto|analizzo|eseguo|inizio|comincio|passo|trasferisco|inoltro|preparo|recupero|avvio|"
    r"ci penso)\b(?! (?:e|ed) )",
    r"\bdevo (?:prima |ancora |solo )*(?:guardare|controllare|verificare|cercare|chiedere|"
    r"consultare|vedere)\b",
    r"^appena [^,]{3,90}, (?!puo|potrai|ricever)",
    r"^(?:(?:va bene|bene|ok|certo|d\'accordo),? )?(?:indago|guardo|verifico|ci guardo|"
    r"lo sistemo)\b",
    r"\bin (?:lavorazione|elaborazione)\b|\bin corso di\b",
    r"\bin (?:coda|corso|esecuzione)\b",
    r"\bfammi (?!sapere)\w+re\b|\bdo (?:subito )?un'occhiata\b|^(?:prima|innanzitutto|per "
    r"prima cosa),? \w{3,}o\b|^vediamo\b(?! (?:un |domani|presto|se funziona))|^(?:partiamo|"
    r"cominciamo|iniziamo) (?:da|con)\w*\b|\bme ne occup\w+\b|\bprovved\w+ (?:subito|io|a)\b",
    r"\b(?:inizier|comincer|verificher|controller|preparer|invier|mander|provveder|aggiorner|"
    r"contatter|creer|eseguir|analizzer|aggiunger|correggr|occuper|cercher|chieder|proceder|"
    r"passer|guarder|sistemer|scriver|far)(?:o|emo)\b",
    r"\b(?:la|lo|ti|vi|le) (?:ri)?(?:contatt|chiam|rispond|avvis|aggiorn)(?:o|iamo|ero|eremo|"
    r"eranno|era)\b.{0,20}\b(?:entro|a breve|presto|al piu|appena|quanto prima|domani)\b|"
    r"\b(?:ti|le|vi) (?:avviso|rispondo|faccio sapere)\b|\briceverai? (?:presto |a breve )?(?:una "
    r"risposta|un riscontro|notizie)\b|\b(?:verra|sarai?|sara) ricontattat[oa]\b|\bin (?:fase "
    r"di|attesa di) (?:elaborazione|valutazione|lavorazione|verifica|approvazione)\b",
    r"\b(?:sto|stiamo|sta|stanno) (?:ancora|gia|ora|adesso) \w+ndo\b|\bnon (?:ho|abbiamo) "
    r"ancora \w+|\b(?:controllo|verifico|guardo|sento|chiedo|cerco|vedo)\b.{0,30} e (?:poi "
    r")?(?:ti|le|vi) (?:dico|faccio sapere|aggiorno|rispondo|confermo|scrivo)\b",
    r"\bquasi (?:finito|pronto|fatto|alla fine)\b|\bmi serv\w+ (?:ancora )?(?:alcuni|qualche|"
    r"un paio di|un po' di|pochi) (?:minut|second|istant|temp|moment)\w*",
)
REFUSES = (
    r"\b(?:purtroppo|sfortunatamente|mi dispiace ma)\b",
    r"\bnon (?:posso|possiamo|e possibile|e disponibile|riesco|ho (?:accesso|i permessi)|"
    r"puo|si puo|sono (?:autorizzat|in grado))\b|\bimpossibile\b",
)
DONE = (
    r"\b(?:fatto|finito|completat[oa]|terminat[oa]|pront[oa]|ecco|risolto|con successo|"
    r"correttamente)\b",
    r"\b(?:ho|abbiamo|e stat[oa]|sono stat[ie]|e|sono) (?:\w+ )?\w+(?:ato|uto|ito|ata|uta|"
    r"ita|ati|uti|iti|ate|tto|tta|sto|sta|so|sa|to)\b",
    r"✅|✔",
)
ALSO = (
    r"\b(?:anche|inoltre|in piu|aggiuntiv[oaie]|ulterior[ei]|un altro|un'altra|altr[ie]|poi|"
    r"successivamente)\b"
)
NODS = (
    r"uff|sei stat[oa] (?:molto )?\w+|mi hai aiutato molto|ciao|salve|buongiorno|buonasera|"
    r"buon pomeriggio|ok|okay|si|certo|certamente|perfetto|ottimo|eccellente|bene|molto|"
    r"molto bene|va bene|d'accordo|capito|ho capito|chiaro|esatto|esattamente|giusto|per favore|"
    r"per piacere|nessun problema|ah|oh|eh|hm+|allora|e|ma|bello|fantastico|benissimo|grande|"
    r"super|figurati|mi sembra|sembra|tutto|interessante|ricevuto|volentieri|corretto|dai|attendo|"
    r"aspetto|fammi sapere|mi faccia sapere|(?:molto|va|cosi va) meglio|bel lavoro|ben fatto|"
    r"bravo|ottimo lavoro|\w+issim[oai]|(?:lo |la |ci )?(?:provo|guardo|controllo|"
    r"faccio)(?: (?:subito|dopo|stasera|domani|oggi|piu tardi))?|benissimo|cosi"
    r"|(?:resto|rimango) in attesa|tranquill[oa]|non c'e (?:nessuna )?fretta|senza fretta|"
    r"(?:fai |faccia )?con calma|(?:fammi|mi faccia) sapere quando (?:hai|ha) (?:finito|"
    r"fatto)|dell'aiuto|per l'aiuto|ho cambiato idea|impeccabile|che bello|(?:e )?venuto "
    r"(?:molto )?(?:bene|benissimo)"
    r"|(?:ora|adesso) si|(?:ci )?(?:do|daro) un'occhiata(?: (?:dopo|domani|piu tardi|"
    r"stasera))?|aspettero|attendero|fai pure con calma|con calma"
    r"|ah ecco|ecco|va benissimo"
)
YES = (
    r"si|certo|ok|okay|va bene|d'accordo|perfetto|volentieri|esatto|corretto|giusto|procedi|"
    r"vai|fallo|certamente|assolutamente"
)
THANKS = (
    r"(?:mille |tante |molte )?grazie(?: mille| tante| infinite| ancora| molte| in anticipo)*|"
    r"(?:ti|la|vi) ringrazio(?: [\w' ]{1,30})?"
)
FAREWELL = (
    r"(?:no|niente|nient'altro|niente altro|nulla|nessuna|per (?:ora|adesso|"
    r"il momento) (?:no|basta|e tutto)|non ora|basta cosi|a posto cosi|sono a posto|"
    r"nessun'altra domanda)",
    r"(?:per (?:oggi|ora|adesso|il momento) )?(?:e|e') tutto(?: per .*)?",
    r"(?:a (?:presto|domani|dopo|piu tardi)|arrivederci|ci sentiamo)\b[^;\u3001\uff0c]*|(?:ti "
    r"auguro una |le auguro una )?(?:buon|buona) (?:giornata|serata|notte|weekend|fine "
    r"settimana|lavoro)\b[^;]*|per (?:oggi|ora|adesso) (?:e tutto|basta(?: cosi)?)",
)
PROCEED = (
    r"(?:si,? (?:grazie|per favore)|procedi(?: pure)?|proceda(?: pure)?|vai(?: avanti|"
    r" pure)?|vada(?: avanti| pure)?|continua(?: pure)?|continui|prosegui|prosegua|avanti|"
    r"fallo(?: pure)?|lo faccia|prossim[oa]|inizia|inizi|comincia|di nuovo|ancora|"
    r"ancora una volta|riprova|riprovi|ripeti|eseguilo(?: di nuovo)?|esegui(?:la|li)?|"
    r"rilancialo|rilancia|applicalo|applica|approvo|approvato|confermo|confermato|"
    r"come (?:vuoi|preferisci|vuole|preferisce)|e uguale|indifferente|decidi tu|scegli tu|"
    r"implementalo|si faccia)\b"
)
STOP = (
    r"(?:ferma|fermati|si fermi|fermo|stop|alt|annulla|annullalo|annulli|interrompi|basta|"
    r"lascia(?: perdere| stare)?|lasci (?:perdere|stare)|dimentica(?:lo)?|dimentichi|smetti|"
    r"smettila)(?: tutto| per favore| subito| cosi| questo| ora| l'operazione| adesso)*",
    r"non (?:mi )?(?:serve|occorre|interessa|ne ho) piu.*|"
    r"non ne ho piu bisogno[^,;\u3001\uff0c]{0,40}",
    r"lasciamo (?:stare|perdere|cosi)",
    r"(?:tutto (?:a posto|ok|risolto),? )?(?:l'ho|lo ho) (?:trovat|risolt|sistemat)[oa](?: io|"
    r" da solo| da sola)?|trovato|(?:ora |adesso )(?:va|funziona)|(?:va|funziona) di nuovo|"
    r"tutto (?:a posto|risolto)",
    r"non (?:lo |la |li )?voglio piu(?: niente)?|(?:no,? )?non (?:mi )?serve(?: piu)?|non "
    r"(?:farlo|fare niente|mandarlo|inviarlo|cancellarlo)|(?:ho )?(?:gia )?(?:risolto|fatto|"
    r"trovato)(?: (?:io|da sol[oa]|tutto))*|come non detto|niente",
)
REDIRECT = (
    r"^(?:no[,.;:!]? |aspetta[,.;:!]? |aspetti[,.;:!]? |ah[,.;:!]? |ok[,.;:!]? |oh[,.;:!]? |"
    r"ma |anzi[,.;:!]? |hmm?[,.;:!]? )*(?:anzi|in realta|piuttosto|invece|al posto|lascia|"
    r"lasci|dimentica|dimentichi|ferma|fermati|stop|ho cambiato idea|cambio di programma|"
    r"ripensandoci|meglio|veramente)\b",
    r"\binvece\b",
    r"^(?:no,? )?non (?:e|era) (?:questo|quello|cosi|cio)\b|^prima pero\b",
)
WISHES = (
    r"(?:io )?(?:voglio|vorrei|vorremmo|desidero|cerco|mi servirebbe|mi serve|ho bisogno)\b",
    r"(?:mi |ci )?(?:puoi|potresti|puo|potrebbe)\b",
    r"per favore,? \w+",
    r"(?:e |anche )?(?:come|perche|quando|quanto|quanti|quale|quali|dove|cosa|chi|che)\b.*",
    r"(?:ora |adesso |poi |allora |per favore,? |e |anche |quindi )*(?:crea|fai|fammi|faccia|"
    r"aggiungi|correggi|sistema|cambia|modifica|togli|rimuovi|elimina|cancella|aggiorna|"
    r"verifica|controlla|guarda|mostra|mostrami|spiega|spiegami|elenca|scrivi|scrivimi|genera|"
    r"esegui|lancia|testa|prova a|installa|analizza|riassumi|traduci|manda|mandami|invia|"
    r"inviami|metti|implementa|organizza|confronta|calcola|cerca|trova|rivedi|migliora|salva|"
    r"prenota|fissa|annulla|compra|leggi|apri|chiudi|risolvi|prepara|includi|sposta|dammi|"
    r"dimmi|aiutami|usa|converti|rendi)\b (?!(?:questo|quello|tutto|perdere|stare|cosi)?\W*$)",
)
CONDITIONS = r"^(?:se|quando|appena|una volta|non appena|dopo)\b"
OPEN = (
    r"\b(?:(?:come|in (?:che )?cosa) (?:posso|possiamo) (?:aiutar|esser))|"
    r"\b(?:(?:che )?cosa (?:vuoi|vuole|desidera|desideri|ti serve|le serve|posso)|"
    r"di cosa (?:hai|ha|si tratta)|qual e il problema)\b"
)
MORE = (
    r"\b(?:ma|pero|non|ancora|tranne)\b|\bper (?:favore|piacere)\b|\b(?:bisogno|voglio|vorrei|"
    r"serve|manca)\b"
    r"|\b(?:ora|adesso) (?!va|funziona|e|ho|si|tutto|capisco)\w+"
)
BARE = (
    r"^(?:e |o |allora |ok |va bene )*(?:(?:a|di|in|per|da|con) )?(?:quale?|quali|quando|dove|"
    r"chi|quant[oaie]|come|cosa|che)\b",
)
OR = r"\bo(?:ppure)?\b"
DOING = (
    r"^(?:ora |adesso |quindi |poi |intanto )*(?!\w+(?:[ts]|iam)o |ecco|sono|ho |posso|quando|"
    r"dopo|solo|"
    r"credo|spero|penso|secondo|tutto|mezzo)\w{3,}o (?:subito|direttamente|il |lo |la |i |gli |le "
    r"|l'|un |una )",
    r"^(?:ora |adesso |quindi |poi |allora )*(?:lo|la|li|le|ne) (?!so\b|credo|spero|ringrazio|"
    r"prego|invito|ritengo|consiglio|ricordo|saluto|\w+iamo\b)\w{3,}o\b",
    r"(?:^|[,;:] )(?:(?:ora|adesso|prima|poi|quindi|allora|ok|certo|e|intanto|subito) "
    r")*(?:correggo|sistemo|procedo|rifaccio|ripeto|continuo|vado avanti|aggiorno|riprovo|"
    r"eseguo|lancio|preparo|aggiungo|tolgo|modifico|creo|scrivo|testo|installo|configuro|"
    r"passo a|converto|traduco|calcolo|prenoto|annullo|chiedo|apro|genero|rinomino|sposto|"
    r"avvio)\b(?! (?:che|scusa)\b)",
)
SOON = r"^(?:quando|appena|una volta|non appena|dopo)\b"
WH = r"^(?:\w+,? ){0,2}(?:quale?|quali|quando|dove|chi|quant[oaie]|come|cosa|che|perche)\b"
KNOW = (
    r"\b(?:verific\w*|guard\w*|cerc\w*|trov\w*|spieg\w*|analizz\w*|confront\w*|mostr\w*|"
    r"riassum\w*|elenc\w*|calcol\w*|controll\w*|se|perche|qual\w*|come|quant\w*|quando|chi|"
    r"dove|che)\b"
    r"|\b(?:opzioni|corregg\w*|traduc\w*|scriv\w*|impar\w*|capire)\b"
)
PRAISE = (
    r"perfetto|ottimo|fantastico|grande|benissimo|eccellente|bellissimo|bravo|che bello|"
    r"funziona|ricevut[oa]|arrivat[oa]|finalmente|top|chiarissimo"
    r"|(?:e|era) (?:proprio|esattamente) (?:quello|cio) che|proprio quello che|(?:ora|adesso) va\b"
)
AND = r"[,;]? (?:e|ed|poi) (?:anche |poi )*"
