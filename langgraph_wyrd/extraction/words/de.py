"""German: verb-second questions ("können Sie …"), separable verbs ("teilen Sie mir … mit")."""

COMMON = (
    "der die das und ich sie ist nicht ein eine einen mit fur auf zu den dem von bitte "
    "kann konnen haben wir mir mich ihre ihr ihren es auch noch wie was wird werden "
    "sind habe hat im dass wenn aber oder danke du dir dich dein deine bei wurde soll mochte "
    "mochte welche welcher bis nur schon jetzt mal alles gibt nach warum wo wann gerne ja nein"
)
YOU = r"\b(?:sie|ihnen|ihre?[nmrs]?|du|dir|dich|deine?[nmrs]?|euch|ich|wir|bitte|mir)\b"
COURTESY = (
    r"^(?:wie|womit|wobei|was) kann ich (?:\w+ ){0,4}(?:helfen|weiterhelfen|tun|behilflich)\b",
    r"\bgefallt (?:es|das|dir|ihnen)\b",
    r"\b(?:sonst|ansonsten) (?:noch|etwas|was|jemand)\b",
    r"^(?:(?:gibt|hast|haben|brauchst|brauchen|benotig\w+|kann|kannst) (?:\w+ ){1,3})?(?:noch |"
    r"weitere )+(?:etwas|was|irgendwas|irgendetwas|fragen|hilfe|wunsche)\b(?!.*\bbevor\b)",
    r"^kann ich (?:dir|ihnen|euch) .*\bhelfen\W*$",
    r"^(?:war|ist) (?:das|es)(?: dann| schon)* alles\b",
    r"^(?:ist|sind|hat sich) (?:ihre?|deine?|das) .*\b(?:geklart|gelost|beantwortet|erledigt)\W*$",
    r"^(?:hilft|reicht|beantwortet) (?:dir |ihnen |euch )?(?:das|dies)\b",
    r"^(?!wollten |mochten ).*\b(?:irgend)?etwas ander(?:es|em)\b",
    r"^(?!was|welche|wann|wo)(?:\w+ )*besser(?: so)?\W*$",
)
OFFERS = (
    r"^ist (?:das|es|alles) (?:so )?(?:verstandlich|klar)\b",
    r"^(?:mochten|mochtest|willst|wollen|brauchen|brauchst|benotigen|benotigst|wunschen) "
    r"(?:sie|du) (?:auch|noch|zusatzlich|das|die|den|eine?n?|ihn|es|mehr|weitere)\b.*\?$",
    r"^(?:(?:als nachstes|danach|dann|anschliessend) )?(?:kann|konnte) ich (?:auch|noch|dir auch|"
    r"ihnen auch|als nachstes|die|das|den)\b.*\b(?:wenn|falls) (?:du|sie)\b",
    r"^(?:mochten|mochtest|willst|wollen) (?:sie|du) .*\b(?:wissen|sehen|erfahren|horen)\W*$",
    r"^(?:und |oder )?soll(?:en)? (?:ich|wir)\b",
    r"^(?:mochten|mochtest|willst|wollen) (?:sie|du)(?: das)?\W*$",
    r"\b(?:mochten|mochtest|willst|wollen) (?:sie|du),? dass (?:ich|wir)\b",
    r"^(?:wenn|falls|sofern) (?:sie|du|gewunscht|du magst).*\b(?:kann|konnte|konnen|helfe|"
    r"erstelle|schreibe|zeige)\b",
    r"\b(?:sag|sagen sie|gib|geben sie)(?: mir)?(?: gern| einfach)*(?: bescheid)?,? (?:wenn|"
    r"falls|ob) (?:ich|du|sie|wir)",
)
APPROVAL = (r"\b(?:trotzdem|dennoch)\b",)
DEMANDS = (
    r"(?:^|: )(?:und )?(?:ihre?n?|deine?n?) [\w -]{2,30},? bitte\W*$",
    r"^(?:gib|nenn|wahl|bestatig|schick|send|lad|teil|schreib|fuge?|trag|full)\w* (?:mir |uns )?"
    r"bitte (?:noch )?(?:dein|den|die|das|ein)\w*\b(?!.*\b(?:wenn|falls)\b)",
    r"\b(?:teile?|sage?|nenne?|gib|schicke?|sende?|beschreibe?|verrate?|zeige?) (?:mir|uns)\b"
    r"(?! (?:gern |einfach |ein\w* )*(?:bescheid|wenn|falls|moment|minute|sekunde))",
    r"^bitte (?:\w+ )?(?:bestatigen?|auswahlen|wahlen|antworten)(?: sie)?\W*$",
    r"\bwarten? (?:noch |nur noch )?auf (?:dein|ihr|euer|eure)\w*\b",
    r"\b(?:brauche|benotige|brauchte|benotigte)n? (?:ich|wir)(?: noch| von (?:ihnen|dir)|"
    r" aber| jetzt| dann)*(?:\W*:| (?:ihre?n?|deine?n?|die|den|das|eine?n?|mehr|folgende)\b)",
    r"\b(?:bitte )?(?:nennen|geben|teilen|senden|schicken|bestatigen|wahlen|laden|"
    r"beschreiben|prazisieren|erganzen|ubermitteln|tragen|entscheiden|melden|konkretisieren|"
    r"prufen und bestatigen|verraten|sagen) sie\b(?! (?:sich|einfach bescheid))(?!.*\b(?:ab|zuruck|"
    r"acht|weiter)\W*$)",
    r"\b(?:ich|wir) (?:brauchen?|benotigen?|brauchte|benotigte)(?: noch| aber| dafur| dazu|"
    r" jedoch| zuerst| dann)* (?:von (?:ihnen|dir)|ihre?n?|deine?n?|die|den|das|eine?n?|"
    r"noch|folgende|mehr|zwei|drei|weitere|nur)\b",
    r"\b(?:mir fehlt|mir fehlen|es fehlt noch|es fehlen noch)\b",
    r"^(?:mochten|mochtest|wollen|willst|haben|hast|konnen|kannst|konnten|konntest|wurden|"
    r"wurdest|sind|bist|brauchen|brauchst|durfte|darf|geht es|handelt es|soll)(?: sie| du|"
    r" ich| wir| es sich)\b",
    r"\bohne .{2,60}\b(?:ich|wir)\b.{0,15}\bnicht\b",
    r"^(?:bitte )?(?:schreib|antworte|sag|tipp|klick|wahl|such|leg|schick|gib|"
    r"lad)\w*\b.{1,60}\bdann \w+e (?:ich|wir)\b",
    r"\b(?:fehlt|fehlen)(?: mir| uns)? noch\b",
    r"^such(?:en sie)? (?:dir|sich)\b",
)
NEEDS = (
    r"^(?!(?:wenn|falls|sofern) ).*\b(?:ich|wir) (?:kann|konnte|konnten|konnen) (?:ihnen|"
    r"dir) .{3,80}\boder\b.{3,60}\banbieten\b"
)
BEGINS = (
    r"\b(?:ich|wir) (?:prufen?|klaren?|fragen?|bearbeiten?|untersuchen?|recherchieren?) |\bmelde "
    r"(?:ich )?"
    r"mich\b(?! (?:nicht|nur))|\b(?:pruft|klart|bearbeitet|untersucht) (?:das|es|den|die|ihr\w*)\b",
    r"\bals nachstes (?:kommt|folgt)\b|\bich (?:behebe|korrigiere|repariere) (?:sie|es|das|die|"
    r"den)\b",
    r"\b(?:ich werde|werde ich|wir werden)\b(?!.*\bnicht\b)",
    r"^(?:(?:ok|okay|klar|gut|gerne?|nur|noch|ein\w*|kleine?n?|kurze?n?|bitte|ne)[ ,]+)*(?:moment|"
    r"augenblick|sekunde|minute|momentchen)\b|\b(?:moment|augenblick|etwas) geduld\b",
    r"\b(?:gib|geben sie) mir (?:\w+ ){0,2}(?:moment|minuten?|sekunden?|augenblick)\b",
    r"^(?:ich )?(?:bin|sind) (?:schon |noch |gerade )*(?:dran|dabei)\b|^wird (?:sofort |gleich )?"
    r"(?:gemacht|erledigt)\b|\b(?:mache?|erledige|ubernehme) ich\W*$",
    r"^(?:\w+[,!.]? )?lass(?:en sie|t)? mich\b(?!.*\bwissen\b)",
    r"\b(?:meldet|melden|kummert|kummern) sich (?!bitte|gern|jederzeit)|\bsich bei (?:ihnen|dir) "
    r"(?:meldet|melden)\b|\bhoren\b.*\bvon (?:uns|"
    r"mir)\b|\b(?:haben|bekommen|erhalten) (?:sie|du|ihr) (?:von \w+ )?eine (?:antwort|"
    r"ruckmeldung)\b",
    r"\bdauert (?:noch |etwa |ca |ungefahr |nur |wenige |ein paar |einige )*(?:\w+ )?(?:minuten?|"
    r"sekunden?|stunden?|moment|augenblick)\b",
    r"\bich (?:check|checke|schau|guck|gucke|seh)\b|\b\w{3,}e (?:aber |also )weiter\W*$",
    r"\bich \w+e\b.*\b(?:jetzt|nun|gleich|sofort|umgehend|eben)\W*$",
    r"^(?:als nachstes|jetzt|nun|dann|zuerst|danach|gleich|zunachst|anschliessend|sofort|"
    r"im anschluss) \w+e ich\b",
    r"\b(?:schaue?|prufe|kummere|melde|sehe|suche|starte|leite|gebe|erledige|checke|"
    r"mache) (?:ich )?(?:mir |mich |das |es |gleich |sofort |jetzt |nun |kurz |mal )+",
    r"\b(?:wird|werden) (?:gerade|derzeit|jetzt|nun) (?:bearbeitet|gepruft|weitergeleitet|"
    r"ausgefuhrt|verarbeitet)",
    r"\b(?!brauch|benotig|hatte|mochte)\w{3,}e ich (?:gerade|noch|jetzt|gleich|sofort|nun|"
    r"als nachstes|danach|kurz|eben|derzeit|im moment)\b",
    r"\bmuss ich\b.*\b\w+en\W*$",
    r"^(?:sobald|nachdem) [^,]{3,90}, \w+e (?:ich|wir)\b",
    r"\b(?:noch|gerade|derzeit) (?:in (?:arbeit|bearbeitung|gange)|am laufen)\b|\blauft (?:noch|"
    r"gerade|derzeit)\b",
    r"\bich gehe? (?:dem|der sache|dieser sache) nach\b",
    r"\b(?:(?:gebe|sage)(?: ich)?|(?:geb|sag) ich) (?:dir |ihnen |euch )?bescheid\b",
    r"\blaufen (?:noch|gerade|derzeit)\b|\bla?uft und\b",
    r"(?:^|, )weiter mit\b",
    r"\b(?:in der warteschlange|in arbeit|in bearbeitung|im gange|am laufen)\b",
    r"\bich (?:suche|mache|arbeite|prufe|lese|teste|schaue) (?:\w+ ){0,3}weiter\b",
)
REFUSES = (
    r"\bleider\b",
    r"\bnicht (?:moglich|verfugbar|erlaubt|gestattet|berechtigt|unterstutzt)\b",
    r"\b(?:kann|konnen|darf|durfen) (?:ich|wir|das|man|diese[rsn]?)?.{0,40}\bnicht\b",
    r"\bkeinen? (?:zugriff|moglichkeit|berechtigung)\b",
)
DONE = (
    r"^(?:\w+ ){0,3}(?:ge\w{3,}(?:t|en)|\w{3,}iert|behoben|erstellt|ersetzt|entfernt|verschickt|"
    r"hinzugefugt|angepasst|umgesetzt|umbenannt|bestatigt|verschoben|ubersetzt)\W*(?:$|,)",
    r"\b(?:besteht|bestehen|lauft|laufen|klappt|funktioniert)(?: jetzt| nun| wieder| durch|"
    r" fehlerfrei)+\W*(?:$|,)",
    r"\b(?:fertig|erledigt|abgeschlossen|geschafft|bereit|erfolgreich)\b",
    r"\b(?:ich )?habe?n? .*\b\w*ge\w+(?:t|en)\b",
    r"\b(?:wurde|wurden|ist|sind) .*\b(?:\w*ge\w+(?:t|en)|\w+iert|behoben|erstellt|"
    r"verschickt|storniert)\b",
    r"\bhier (?:ist|sind|finden|findest|die|der|das|eine?)\b",
    r"✅|✔",
    r"^(?!ansonsten|zumindest)(?:ge|er|ver|be|ent|auf|ab|an|ein|aus|um)\w{3,}(?:t|(?<!ung)en)"
    r"(?:,|$)",
    r"^(?:behoben|korrigiert|angepasst|umgesetzt|eingebaut|gefixt|repariert|aktualisiert|"
    r"gelost|eingetragen|gebucht|gepusht|geandert)\b",
)
ALSO = r"\b(?:auch|ausserdem|zusatzlich|noch|weitere[nrs]?|ebenfalls|daruber hinaus|ferner)\b"
NODS = (
    r"puh|uff|hallo|hi|hey|guten (?:tag|morgen|abend)|moin|servus|gruss gott|ok|okay|oki|ja|jo|"
    r"jap|jawohl|genau|gut|super|perfekt|prima|toll|klasse|wunderbar|spitze|cool|schon|(?:jetzt |"
    r"das |es )?(?:funktioniert|geht|klappt|lauft|hat geklappt|hat funktioniert|"
    r"hat geholfen)(?: jetzt| es| wieder| das)*|sehr|alles (?:klar|gut)|klar|passt(?: so)?|"
    r"in ordnung|einverstanden|richtig|stimmt|verstehe|verstanden|ach so|achso|aha|hm+|na|also|"
    r"und|aber|dann|nun|bitte|gerne?|kein problem|mach(?:e|t)? nichts|natur?lich|freut mich|"
    r"interessant|zu wissen|mal|das|es|so|ich warte|halte? mich auf dem laufenden|nett|top|"
    r"(?:viel|schon|deutlich|so|jetzt) besser|gut gemacht|starke sache|sauber|stark|genial|ah|oh|"
    r"(?:das |dann )?(?:mach|mache|erledige|probier|probiere|teste|versuche|schau) ich(?: das| es|"
    r" mal| mir| so| dann)*(?: an| aus)?(?: (?:gleich|spater|morgen|heute(?: abend)?))?(?: an|"
    r" aus)?|wie geschmiert|lass dir zeit|lassen sie sich zeit|(?:das )?ging (?:ja )?"
    r"(?:schnell|flott|fix)|(?:ich )?bin (?:sehr )?zufrieden|(?:ich )?(?:teste|probiere|prufe|"
    r"lese) "
    r"(?:es|das)(?: spater| morgen| heute(?: abend)?)|sag bescheid|(?:das ist )?nett(?: von (?:dir|"
    r"ihnen))?|"
    r"das ware (?:super|toll|nett|gut|"
    r"prima|klasse)"
)
YES = (
    r"ja|jo|jap|jawohl|genau|gern|gerne|klar|naturlich|ok|okay|passt|einverstanden|richtig|"
    r"stimmt|in ordnung|mach das|bitte|unbedingt|das ware (?:super|toll|nett|gut|prima|klasse)"
)
THANKS = (
    r"(?:vielen|herzlichen|besten|lieben|tausend|ganz)? ?(?:herzlichen )?dank(?:e)?(?: dir|"
    r" ihnen| euch)?(?: schon| sehr| vielmals| auch| nochmal)?(?: fur [\w ]{1,40})?|merci|"
    r"ich danke(?: dir| ihnen| euch)?|dankeschon"
)
FAREWELL = (
    r"(?:mir |das |egal,? |lass gut sein,? )*reicht(?: mir| das| es| so| schon| vollig|"
    r" erst ?mal| jetzt)*",
    r"(?:nein[,.! ]*)?(?:das (?:wars|war's|war es|ist's)|das (?:war|ist|ware)(?: dann| schon|"
    r" auch| erst ?mal)* (?:alles|genug|schon)|mehr (?:brauche ich|ist es))(?: nicht| "
    r"mehr)*.{0,25}",
    r"(?:das ist |ist )?nicht (?:notig|notwendig|erforderlich)",
    r"(?:das )?brauch(?:e|st|t|en)? ?(?:du|ich|es|wir|sie)? ?(?:das |es )?nicht",
    r"(?:jetzt|noch|heute) nicht|(?:vielleicht )?spater(?: vielleicht)?",
    r"bis (?:spater|morgen|dann|bald|gleich|nachher|nachste woche)|gute nacht|feierabend\b.{0,20}",
    r"(?:nein|ne|nee|nichts|nichts (?:mehr|weiter|anderes)|sonst nichts|aktuell nicht|"
    r"im moment nicht|gerade nicht|keine (?:weiteren )?fragen(?: mehr)?)",
    r"(?:einen )?schonen\b[^;\u3001\uff0c]*",
)
PROCEED = (
    r"(?:bitte )?(?:ja,? (?:gerne?|bitte)|mach(?:e|en sie|t)? (?:bitte )?(?:weiter|"
    r"so weiter|das|es|so|ruhig|mal)|weiter(?:machen| so)?|fahr(?:e|en sie)? fort|"
    r"fortfahren|leg(?:en sie)? los|los(?: geht'?s| gehts)?|nachste[rs]?(?: schritt)?|"
    r"start(?:e|en sie)?|beginne?n?(?: sie)?|noch ?mal|nochmals|erneut|versuch(?:e|"
    r"en sie)? es (?:noch ?mal|erneut|noch einmal)|noch einmal|fuhr(?:e|en sie)? (?:es|das|"
    r"sie)(?: bitte)?(?: noch ?mal| erneut)? aus|tu(?:n sie)? das|setz(?:e|en sie)? (?:es|"
    r"das|den plan) (?:bitte )?um|gern(?:e)?|unbedingt|freigegeben|genehmigt|bestatigt|"
    r"entscheide?(?:n sie)? (?:du|selbst)|egal|lass(?:en sie)? (?:es|sie|"
    r"das)(?: bitte)? (?:noch ?mal |erneut )?laufen|ausfuhren|umsetzen|so machen wir'?s?)\b"
)
STOP = (
    r"(?:bitte )?(?:stopp?|halt|abbrechen|abbruch|brich(?: es| das)? ab|brechen sie(?: es|"
    r" das| bitte)* ab|hor(?:en sie)? auf|aufhoren|lass(?:en sie)? (?:es|das|gut sein|mal|"
    r"gut)(?: sein| bleiben)?|vergiss(?: es| das)?|vergessen sie(?: es| das)?|"
    r"stornieren)(?: bitte| einfach| mal| doch| ruhig| alles| damit| jetzt| sein| gut)*",
    r"lass|lass (?:es|das) erst ?mal|(?:ach |dann )?doch nicht|(?:das )?brauchs?t? ?(?:du|ich)? "
    r"?nicht mehr|"
    r"hor(?:en sie)? bitte auf|(?:du kannst|sie konnen) aufhoren|(?:das |es )?hat sich "
    r"(?:schon |inzwischen |damit )?erledigt|nicht mehr (?:notig|notwendig|relevant)|kein interesse"
    r"(?: mehr)?|(?:ich|wir) (?:mochte|mochten|will|wollen) (?:\w+ ){0,3}nicht mehr(?: \w+){0,2}",
    r"ich hab(?:e|s|'s)? (?:es )?mir (?:es )?anders uberlegt|(?:schon gut )?(?:ich )?habs? "
    r"(?:selbst |"
    r"schon )*(?:rausgefunden|gefunden|gelost|hinbekommen)",
    r"lassen wir (?:das|es)(?: lieber| besser| mal| sein| gut sein)*",
    r"(?:das |es )?brauchen? (?:wir|ich) (?:es |das |doch |jetzt )*nicht(?: mehr)?",
    r"(?:ich )?hab(?:e|'?s)?(?: es| das| schon)* (?:selbst |schon )*(?:gefunden|gelost|"
    r"hinbekommen|herausgefunden)|(?:selbst |schon )?gefunden|(?:es )?(?:geht|lauft|klappt|"
    r"funktioniert) (?:jetzt )?wieder(?: von selbst| von allein)?",
    r"(?:bitte )?brich (?:das|es|den \w+|die \w+)?(?: bitte| mal| sofort| jetzt)* ab|brechen "
    r"sie (?:das|es|den \w+|die \w+)?(?: bitte| mal| sofort| jetzt)* ab",
)
REDIRECT = (
    r"^(?:nein[,.;:!]? |ne[,.;:!]? |moment[,.;:!]? |warte[,.;:!]? |ach[,.;:!]? |"
    r"hm+[,.;:!]? |ok(?:ay)?[,.;:!]? |aber |oh[,.;:!]? )*(?:eigentlich|stattdessen|lieber|"
    r"vergiss|vergessen sie|stopp?|halt|lass(?:en sie)? (?:das|es|uns)|doch (?:lieber|nicht|"
    r"besser)|ich hab'?[es]? (?:es )?mir (?:es )?anders|kommando zuruck|andere idee|anders|"
    r"plananderung|neue idee|streich|machen wir was anderes)\b",
    r"\bstattdessen\b",
    r"\bdoch (?:lieber|besser|erst)\b",
    r"^(?:nein\W+|ne\W+)*ich (?:meinte|habe? .{0,20}gemeint|hatte .{0,20}gemeint)\b",
    r"\bstatt\b",
)
WISHES = (
    r"(?:ich|wir|mein \w+ und ich|ein \w+ von mir und ich) (?:mochten?|"
    r"will|wollen|wollte|brauchen?|suchen?|wurden? gerne?|hatten? gerne?)\b",
    r"(?:konnen|konnten|konntest|kannst|wurden|wurdest|durfte|darf|kann|konnte) (?:sie|du|"
    r"ihr|ich|wir|man)\b",
    r"bitte (?!nicht\b|schon\b|sehr\b|um\b)\w+",
    r"(?:jetzt |dann |nun |auch |noch |und |zuerst |erst )*"
    r"(?:mach|erstell|schreib|fug|ander|losch|entfern|korrigier|behebe?|test|pruf|uberpruf|"
    r"berechne?|vergleich|ubersetz|fass|analysier|aktualisier|nimm|setz|bau|such|find|"
    r"implementier|installier|generier|sortier|recherchier|buch|stornier|verschieb|benenn|"
    r"ersetz|fuhr|starte|zeichne|nutz|verwend|reparier|dokumentier|schick|send|zeig|erklar|gib|"
    r"nenn|lies|schau|sag|erzahl|stell|leg|trag|offne|schliess|kopier|lad|druck|ruf|bestell|kauf|"
    r"plan|organisier|reservier|notier|speicher|fix|raum|optimier|vereinfach|erganz|erweiter|"
    r"formulier|entwirf|programmier|deploy|push|merge|commit|konfigurier|aktivier|deaktivier|"
    r"exportier|importier|konvertier|wandel|rechne|strukturier|verfass|verbesser|kundig|frag|"
    r"informier|besorg|nimm|pack|verbind|trenn|erinner|mail|kurz|list|ordne)e? (?!ich\b|wir\b)\w+",
)
CONDITIONS = r"^(?:sobald|wenn|falls|sofern|nachdem|sollten?)\b"
OPEN = (
    r"\b(?:wie (?:kann|darf) ich (?:\w+ )?(?:heute )?helfen|womit kann ich|was fuhrt (?:sie|dich))|"
    r"\b(?:was (?:genau )?(?:mochten|mochtest|wollen|willst|kann|darf|brauchen|brauchst|"
    r"soll)|worum (?:geht|handelt)|wobei|welches anliegen|"
    r"was ist das problem)\b(?!.*\b(?:stehen|heissen|kosten)\b)"
)
BARE = (
    r"\bbitte$",
    r"^(?:und |oder |also |ok |okay )*(?:(?:fur|in|an|um|mit|zu|bis|ab|von|auf|bei|nach|"
    r"aus) )?(?:welche[rsmn]?|was|wann|wo|wohin|woher|wer|wen|wem|wie|warum|wozu)\b",
)
MORE = (
    r"\b(?:aber|allerdings|nicht|kein\w*|immer noch|leider|falsch)\b|\bbitte\b|"
    r"\b(?:brauche?n?|mochten?|will|wollen|hatte gern|schick|mach)\b"
)
OR = r"\boder\b"
DOING = (
    r"^(?:ich|wir) (?!habe|hatte|bin\b|war|kann|konnte|denke|glaube|hoffe|empfehle|wurde\b|"
    r"wunsche|freue|bedau|verstehe|finde|weiss|rate|schlage|sehe (?:keine|hier|da)|nehme an|"
    r"gehe davon|brauche|benotige|warte|bitte|danke|haben|sind|waren|konnen|empfehlen|"
    r"wunschen|freuen|hoffen|danken|bitten)\w{3,}en?\b(?!.*\bnicht\b)",
)
SOON = r"^(?:sobald|nachdem|wenn)\b"
WH = (
    r"^(?:\w+,? ){0,2}(?:welche[rsmn]?|was|wann|wo|wohin|woher|wer|wen|wem|wie|warum|wieso|"
    r"weshalb|wo(?:zu|mit|fur|ran|durch|raus|bei|von))\b"
)
KNOW = (
    r"\b(?:pruf\w*|uberpruf\w*|schau\w*|such\w*|find\w*|erklar\w*|analysier\w*|vergleich\w*|"
    r"zeig\w*|recherchier\w*|fass\w*|liste|berechn\w*|ob|warum|was|wie|wer|wann|wo|welche\w*|"
    r"gibt es)\b"
    r"|\b(?:optionen|moglichkeiten|korrigier\w*|ubersetz\w*|schreib\w*|formulier\w*|lern\w*|"
    r"versteh\w*)\b"
)
PRAISE = (
    r"super|perfekt|klasse|prima|toll|spitze|genial|top|wunderbar|sehr gut|stark|cool|sieht "
    r"gut aus|passt|klappt|geht|lauft|funktioniert|geschafft|hurra|endlich"
    r"|genau (?:das|so|was)\b.*(?:gesucht|gebraucht|gewollt|wollte|gemeint)|sieht (?:jetzt |"
    r"so |richtig )*(?:gut|super|toll|besser)|lauft (?:jetzt|wieder|wie)"
)
AND = r"[,;]? (?:und|sowie) (?:dann |auch |bitte )*"
