"""Dutch."""

COMMON = (
    "de het een en ik je jij u uw is niet van voor met op aan te dat die dit wat hoe kun kunt "
    "kan mijn jouw we wij zijn heb heeft hebben ook nog maar of als bij om naar wil graag "
    "bedankt dank hallo alstublieft alsjeblieft ja nee goed er wordt worden deze waar wanneer "
    "waarom welke mij moet dan nu zo geen over heel even zou zal alles"
    " laat hem ons jullie toch wel me hij zij daar hier"
)
YOU = r"\b(?:u|uw|je|jij|jou|jouw|jullie|ik|we|wij|mij|me)\b"
COURTESY = (
    r"^(?:hoe|waarmee|waar) kan ik (?:\w+ ){0,3}(?:helpen|van dienst)\b",
    r"\b(?:nog (?:iets|wat|andere?|meer|vragen|hulp)|verder nog|iets anders|anders nog)\b",
    r"\bals er iets\b",
    r"\bkan ik (?:\w+ ){0,3}(?:verder|nog|ergens mee) (?:\w+ )?helpen\b",
    r"^waarmee\W*$",
)
OFFERS = (
    r"^(?:en |of )?zal ik\b",
    r"^(?:en |of )?(?:wil|wilt) (?:je|u) .*\w{2,}en\W*$",
    r"^(?:wil|wilt) (?:je|u) (?:ook|nog|meer|een voorbeeld|dat ik)\b",
    r"^(?:wil|wilt) (?:je|u)(?: dat)?\W*$",
    r"\b(?:laat|laten) (?:het )?(?:me |mij )?(?:maar |gerust |even )?weten (?:of|als) (?:je|"
    r"u|ik)\b",
    r"^(?:heb|heeft|hebben) (?:je|u|jullie) (?:ook|nog|een extra) .*nodig\b|^moet ik\b|^moet "
    r"er (?:nog|ook)\b|^kan ik (?:ook )?(?:de|het|een)\b|^(?:wil|wilt) (?:je|u) .*\b(?:ook|"
    r"instellen|toevoegen)\b",
    r"^(?:is|was) (?:dit|dat|het) (?:wat (?:je|u)|zo (?:goed|duidelijk|oke)|naar wens|"
    r"duidelijk|de bedoeling)\b|^ziet (?:dit|dat|het) er (?:zo )?goed uit\b|^(?:snap|begrijp|"
    r"volg) (?:je|u)(?: het)?\W*$",
)
APPROVAL = (
    r"^mag ik (?!ook|u\b|je\b|vragen|weten)\w+",
    r"\b(?:zal|mag|kan) ik (?:nu )?(?:beginnen|starten|doorgaan|verder(?:gaan)?|het "
    r"(?:uitvoeren|doorvoeren))\b",
)
DEMANDS = (
    r"^gelieve\b|^(?:zou|kunt?|wilt?) (?:u|je|jij) .{3,80}\b(?:doorgeven|invullen|sturen|geven|"
    r"bevestigen|delen)\b",
    r"\b(?:geef|stuur|vertel|noem|deel|kies|vul|upload|plak|beschrijf|specificeer|bevestig|"
    r"vermeld|laat)(?:t u)? (?:me|mij|ons|aub|alstublieft|alsjeblieft|a\.u\.b\.?|hieronder|"
    r"eerst|even|uw|je|jouw|de|het|een|in)\b(?! (?:gerust |maar )?(?:weten )?(?:als|of)\b)",
    r"^(?:daarvoor |hiervoor |(?:om|voor) .{1,80}? |eerst |ook |nog |dan ){0,3}(?:heb ik|ik heb|"
    r"hebben we|heb)\b.*\bnodig\b(?!.*\b(?:even|minuut|moment)\b)",
    r"\bik (?:mis|mis nog)\b|\b(?:ontbreekt|ontbreken) (?:nog|er)\b",
    r"\bzonder .{2,60}\b(?:ik|we)\b.{0,15}\bniet\b",
    r"^(?:antwoord|typ|schrijf|zeg|stuur|sleep|klik|kies|geef)\w*\b.{1,60}(?:\bdan \w+ (?:ik|"
    r"we)\b|\bhier(?:heen|naartoe)?\W*$)",
    r"\b(?:ik|we) (?:hoef|moet|moeten|wil|zou)\b.{0,20}\b(?:weten|ontvangen)\b|^(?:voordat|"
    r"alvorens)\b.*\b(?:nodig|weten|toestemming|akkoord)\b",
    r"^graag (?:\w+ ){0,3}(?:uw|je|jouw|de|het|een)\b.*\b(?:doorgeven|invullen|sturen|"
    r"aangeven|bevestigen|delen|mailen|vermelden)\b|^graag (?:ontvang|hoor|verneem|krijg) "
    r"(?:ik|we)\b|\b(?:ik|we) (?:hoor|horen|verneem|vernemen|ontvang|ontvangen|krijg|krijgen) "
    r"(?:dan )?graag (?!(?:als|of)\b)",
    r"\bik wacht (?:nog )?op (?:uw|je|jouw)\b|^ik wacht op (?!antwoord|reactie|een)|^(?:zeg|"
    r"geef) (?:het )?maar\b(?! (?:als|of)\b)",
    r"^(?:antwoord|typ|schrijf|zeg|stuur|klik|kies|druk|reageer)\w*\b.{1,60}\bom (?:te "
    r"(?:bevestigen|doorgaan|annuleren|accepteren|goedkeuren)|(?:door|verder) te gaan)",
    r"\bniet (?:helemaal |goed )?(?:duidelijk|zeker)\b.{0,15}\b(?:welke?|wat|of|wanneer|"
    r"hoe)\b|\bbegrijp niet (?:goed )?(?:welke?|wat)\b",
    r"^(?:uw|je|jouw) .{1,40}\b(?:alstublieft|alsjeblieft|aub|graag)$|^geef .{1,60} door$|"
    r"\b(?:je|u) moet (?:me|mij|ons) \w+|\blaat me .{1,40} zien\b|\bbevestig (?:even |graag "
    r")?(?:of|dat|uw|je)\b|\bstuur (?:die|dat|het|hem) (?:op|door|naar)\b",
)
NEEDS = (
    r"\bkan (?:u|je) .{3,80}\bof\b.{3,60}\baanbieden\b"
    r"|^(?:daarmee|hiermee|met (?:deze|die) (?:informatie|gegevens|antwoorden)) (?:kan|maak|"
    r"zal|schrijf|bouw) ik\b"
)
BEGINS = (
    r"\b(?:een|een ogenblik|ogenblikje|even|1) (?:moment(?:je)?|geduld|ogenblik|minuut|seconde|"
    r"wachten)\b|^(?:moment(?:je)?|ogenblik(?:je)?)\W*(?:$|alstublieft|graag)",
    r"\b(?:ik|we|wij) (?:ga|gaan|zal|zullen) (?!graag|om \d|open|dicht|uit van)\w+",
    r"\b(?:ik|we) (?:kijk|check|controleer|zoek|bekijk|onderzoek|begin|start|haal|lees|analyseer|"
    r"verbind|vraag|stuur|maak|voer|regel|neem|geef|pak|pas|los|bereken|schrijf|test|draag|"
    r"probeer|werk)\w{0,2}\b(?! (?:je|u) graag)",
    r"^(?:nu |dan |eerst |vervolgens |daarna |hierna |als volgende |momenteel )+(?:ga|kijk|check|"
    r"controleer|zoek|begin|start|haal|lees|analyseer|voer|maak|pas|schrijf|test|bereken|"
    r"vraag) (?:ik|we)\b",
    r"\b(?:kom|komen) (?:er|erop|hierop|daarop|bij (?:je|u)) .*terug\b|\bbezig met\b|"
    r"\bwordt (?:nu )?(?:verwerkt|uitgevoerd|gecontroleerd)",
    r"\bmoet ik\b.*\b\w+en\W*$",
    r"^zodra [^,]{3,90}, \w+ (?:ik|we)\b",
    r"\bik laat het weten\b",
    r"^(?:(?:oke|ok|goed|prima|duidelijk),? )?ik duik\b",
    r"\b(?:heb|hebben) (?:ik|we)\b.{0,40}\bnog niet\b",
    r"\b(?!heb|had|ben|was|kan|wil|moet|mag|zou|zie|weet|snap)\w{2,} (?:ik|we) (?:hierna|daarna|"
    r"nu|zo|straks|meteen|zometeen|direct|vervolgens|eerst)\b",
    r"^nog (?:\d+|twee|drie|vier) (?:te gaan|over)\b",
    r"\blaat me (?!(?:\w+ ){0,3}weten\b)(?:\w+ ){0,4}\w+en\b|^(?:even|eens) (?:kijken|checken|"
    r"zoeken|nakijken|zien)\b|\b(?:ben|zijn) (?:\w+ ){0,5}aan het \w+en\b",
    r"^(?:eerst|nu|dan|daarna|vervolgens|hierna) (?!(?:heb|had|ben|was|kan|wil|moet|mag|zou|"
    r"zie|weet|snap|hebben|zijn|kunnen|krijg|denk|begrijp|hoor|wacht|vind)\b)\w{2,} (?:ik|"
    r"we)\b|\b(?:ik|we) (?!(?:heb|had|ben|was|kan|wil|moet|mag|zou|zie|weet|snap|hebben|zijn|"
    r"kunnen|krijg|denk|begrijp|hoor|wacht|vind)\b)\w+ (?:(?:het|hem|dat|dit|ze|je|u|er|(?:de|"
    r"het) \w+) ){0,2}(?:meteen|direct|nu|zo|straks|even|eerst)\b",
    r"\b(?:ik neem|(?:we|wij|zij|ze|collega's) nemen|neemt|wordt) .{0,40}\bcontact\b|\b(?:u|"
    r"je) hoort (?:\w+ ){0,6}van (?:ons|mij|me)\b|\b(?:u|je) (?:ontvangt|krijgt) (?:\w+ "
    r"){0,3}(?:bericht|antwoord|reactie|een update)\b|\bin behandeling\b",
    r"\bwacht(?:en)? nog op (?!uw|je|jouw|u\b)|\bnog niet klaar\b|"
    r"\bmoet(?:en)? nog\b(?<!je moet nog)(?<!u moet nog)(?<!jullie moeten nog)",
    r"\baan mij over\b|^komt (?:goed|in orde|eraan|voor elkaar)\b|^(?:doe|regel|fix) ik\b|"
    r"\b(?:ga|gaan) .*aan de slag|^(?:\w+, )?aan de slag\b|\b(?:dan|nu) ga (?:ik|we)\b|^laten "
    r"we (?:met|eerst|eens|beginnen|kijken)\b",
    r"\bgeef me (?:\w+ )?(?:een )?(?:minuut|moment|seconde|uur)(?:t?je)?\b|\b(?:seconde|"
    r"secondje|minuutje|momentje|ogenblikje)$",
    r"\b(?:(?:ik|we) (?:laat|laten)|laat ik) (?:het |je |u |jou )*weten\b(?! (?:of|als) (?:je|"
    r"u))",
    r"\b(?:ik|we) (?:doe (?:het|dat|dit)|los|overleg|informeer|herhaal|verander|wijzig|voeg|"
    r"bouw|verwijder|open|schakel|reserveer|boek|bestel|plan|noteer|meld|zet|vul|kopieer|"
    r"installeer|configureer|repareer|fix|update|vernieuw|hernoem|verplaats|vertaal|draai|"
    r"corrigeer|ga (?:nu |verder|door|na))\b(?! (?:je|u) (?:aan|af)\b)|\b(?:nu|dan|eerst|"
    r"daarna) (?:los|pas|doe|voeg|zet|draai|corrigeer|verander) (?:ik|we)\b",
    r"\bbijna (?:klaar|gereed|zover)\b|\bwordt doorverbonden\b|^blijf aan de lijn\b|^(?:even|"
    r"eens) (?:\w+ ){0,4}(?:kijken|checken|zoeken|nakijken|overleggen|navragen)$|\bheb (?:nog "
    r")?(?:een paar|enkele|wat|even) (?:minuten|tijd|seconden)\b",
)
REFUSES = (
    r"\b(?:helaas|jammer genoeg|spijtig)\b",
    r"\b(?:kan|kunnen|mag|mogen) (?:ik|we|dit|dat|het|deze)?.{0,40}\b(?:niet|geen)\b|"
    r"\bniet (?:mogelijk|beschikbaar|toegestaan|ondersteund)\b|\bgeen toegang\b|"
    r"\bonmogelijk\b",
)
DONE = (
    r"\b(?:klaar|gelukt|voltooid|afgerond|gereed|succesvol|opgelost)\b",
    r"\b(?:ik )?(?:heb|hebben|is|zijn|werd|werden) .*\b(?:ge\w+[dtn]|ver\w+[dtn]|be\w+[dtn]|"
    r"aangepast|toegevoegd|bijgewerkt|aangemaakt|opgelost|verwijderd|geannuleerd)\b",
    r"\bhier (?:is|zijn|vind|heb|staat)\b|\b(?:werkt|draait) (?:nu|weer)\b",
    r"✅|✔",
)
ALSO = r"\b(?:ook|daarnaast|bovendien|extra|verder|nog een|aanvullend|eveneens|vervolgens)\b"
NODS = (
    r"pff|mooi zo|hallo|hoi|hey|hi|goedemorgen|goedemiddag|goedenavond|goedendag|dag|ok|oke|okay|"
    r"ja|jawel|jep|yes|zeker|prima|perfect|goed|heel|super|mooi|top|geweldig|uitstekend|fijn|"
    r"duidelijk|begrepen|ik begrijp het|(?:het |dat )?(?:werkt|is gelukt|lukt)(?: nu| weer|"
    r" goed)?|snap ik|ik snap het|natuurlijk|precies|klopt|exact|inderdaad|graag|alstublieft|"
    r"alsjeblieft|aub|a\.u\.b|geen probleem|ah|oh|hm+|dus|en|maar|dan|nou|nu|dat is|dat klinkt|"
    r"klinkt|is|zo|helder|interessant|akkoord|leuk|hartstikke|lekker|dat|het|dit|ik wacht|"
    r"laat (?:maar|het me) weten|(?:veel|al) beter|goed (?:gedaan|werk)|netjes|lekker bezig|knap|"
    r"ik (?:probeer|test|bekijk|doe) (?:het|dat)(?: (?:vanavond|morgen|straks|zo|later))?|doe ik|"
    r"regel ik|als een trein"
    r"|ik hoor (?:het |dat )?(?:dan |graag )?wel|rustig aan|geen haast|(?:ik )?wacht (?:wel|"
    r"even|af)|laat (?:maar |het )?weten als (?:je|u|het) (?:\w+ )?klaar (?:bent|is)|neem "
    r"(?:je|de|rustig de) tijd|voor de hulp|ik heb me bedacht|een held|een topper|je bent|u "
    r"bent|(?:ziet|zag) er (?:heel |erg |echt )?(?:goed|mooi|top|prima|netjes) uit|helemaal"
    r"|nu wel|ik wacht wel(?: even)?|ik kijk (?:er|het)(?: later| straks| zo| morgen| even)? "
    r"(?:naar|na)|(?:ik )?(?:bekijk|probeer|test) (?:het|dat) (?:later|straks|zo|morgen|even)"
)
YES = (
    r"ja|jep|yes|zeker|ok|oke|okay|prima|graag|natuurlijk|akkoord|klopt|precies|doe maar|"
    r"is goed|goed|perfect"
)
THANKS = (
    r"(?:heel erg |hartelijk |erg |super )?(?:bedankt|dank (?:je|u)(?: wel)?|dankjewel|"
    r"dankuwel|dank|thanks|merci)(?: alvast| nogmaals| weer| voor (?:de|het|je|"
    r"uw) [\w ]{1,40})*"
)
FAREWELL = (
    r"(?:nou |oke |ok |dan )*(?:dan )?wacht ik (?:wel |nog |dan )*(?:even )?af",
    r"(?:nee|niets|niks|nee (?:hoor|dank je|dank u|bedankt)|verder niets|verder niks|"
    r"niets meer|nu niet|op dit moment niet|geen (?:verdere )?vragen(?: meer)?|dat is alles)",
    r"(?:nu )?nog niet|wacht (?:nog|er(?:mee)?|daar(?:mee)?)\b.{0,20}",
    r"(?:tot (?:ziens|later|morgen|snel|horens|de volgende keer|dan)|doei|dag|"
    r"groetjes?)\b[^;\u3001\uff0c]*|(?:nee,? )?dat (?:was|is) (?:het|alles)(?: voor (?:nu|"
    r"vandaag))?|(?:voor|tot) (?:vandaag|nu) is (?:het|dit) (?:goed|genoeg|alles)(?: zo)?|"
    r"(?:nee,? )?(?:hoor,? )?alles is (?:duidelijk|goed)|(?:jij |u |jullie )?(?:ook )?(?:nog "
    r")?(?:een |en )?(?:fijne?|prettige?|goede?) (?:dag|avond|weekend|middag|week)\b[^;]*",
)
PROCEED = (
    r"(?:ja,? graag|ga (?:maar )?(?:door|verder|je gang)|gaat u (?:maar )?(?:door|verder|"
    r"uw gang)|doe (?:het|dat|maar|dat maar|het maar)|verder|doorgaan|volgende|start maar|"
    r"start|begin(?: maar)?|opnieuw|nog (?:een keer|eens|een poging)|"
    r"probeer (?:het )?(?:opnieuw|nog eens|nog een keer)|voer (?:het |dit |hem |"
    r"ze )?(?:opnieuw )?uit|draai (?:het |hem |ze )?(?:nog eens|opnieuw|nog een keer)|"
    r"herhaal|pas (?:het|ze|dit) toe|goedgekeurd|bevestigd|ik bevestig|maakt niet uit|"
    r"kies (?:jij |u )?maar|zoals (?:je|u) wilt|laat maar lopen|zet maar door)\b"
)
STOP = (
    r"(?:stop|halt|ho|annuleer|annuleren|breek af|afbreken|"
    r"laat (?:het )?(?:maar )?(?:zitten|maar|zijn)|vergeet (?:het|dat)|hou op|houd op|"
    r"kap)(?: maar| ermee| nu| alsjeblieft| alstublieft| alles| met alles| dit| het|"
    r" hiermee| ermee op)*",
    r"(?:het |dat )?(?:is|hoeft) (?:niet meer|niet|al|niet langer) (?:nodig|"
    r"opgelost)?.{0,15}",
    r"laten we (?:het|dat) (?:maar )?(?:zo )?(?:laten|zitten|vergeten)(?: zitten)?",
    r"(?:hoeft niet meer,? )?(?:ik heb (?:het|hem) )?(?:al |zelf )*(?:gevonden|opgelost)|"
    r"(?:hij |het )?doet het weer",
    r"(?:het is )?niet (?:meer|langer) nodig|(?:het |dat )?hoeft niet(?: meer)?|ik wil (?:het|"
    r"dat|hem|ze) niet(?: meer)?|(?:doe|stuur|verwijder) (?:het|dat|hem|ze) (?:maar )?niet|"
    r"niet (?:doen|sturen|verwijderen)",
)
REDIRECT = (
    r"^(?:nee[,.;:!]? |wacht[,.;:!]? |ah[,.;:!]? |oke?[,.;:!]? |oh[,.;:!]? |maar |"
    r"hmm?[,.;:!]? )*(?:eigenlijk|in plaats|liever|toch (?:maar|liever)|vergeet|"
    r"laat (?:maar|dat|het)|stop|ik heb me bedacht|bij nader inzien|"
    r"doe (?:toch )?(?:maar )?liever|verandering van plan|andersom)\b",
    r"\bin plaats (?:van|daarvan)\b",
    r"\blaat .{1,40} zitten\b",
    r"^(?:nee\W+)*ik (?:bedoel(?:de)?|had het over)\b",
    r"^(?:nee\W+)?(?:dat|dit) (?:bedoel\w*|is|was) (?:ik )?(?:het )?niet\b",
)
WISHES = (
    r"(?:ik|we|wij) (?:wil|willen|zou|zouden|zoek|heb .{0,12}nodig)\b",
    r"(?:kun|kunt|kan|zou|wil) (?:je|u|jij|ik|we)\b",
    r"(?:graag|alsjeblieft|alstublieft),? \w+",
    r"(?:is er|zijn er|heb je|heeft u|is het mogelijk)\b",
    r"(?:wil|wou|zou) (?:ik|we)\b",
    r"(?:nu |dan |eerst |en |ook |graag )*(?:maak|voeg|pas|zet|stuur|schrijf|controleer|check|"
    r"bekijk|kijk|zoek|vind|toon|geef|leg|vertel|vertaal|vat|verwijder|wijzig|verander|update|"
    r"test|draai|run|installeer|plan|boek|reserveer|annuleer|bestel|vergelijk|bereken|los|"
    r"repareer|fix|verbeter|genereer|verplaats|hernoem|open|sluit|gebruik|lees|implementeer|"
    r"analyseer|help|laat)\b (?!(?:het|dat|dit|maar|maar zitten|zitten)?\W*$)",
)
CONDITIONS = r"^(?:als|zodra|wanneer|indien|nadat|mocht)\b"
OPEN = (
    r"\b(?:(?:waarmee|hoe) (?:kan ik|kunnen we) (?:\w+ )?(?:helpen|van dienst))|"
    r"\b(?:wat (?:wilt|wil|kan ik|zoekt|heb je|heeft u)|waar gaat het (?:om|over)|"
    r"wat is het probleem)\b"
)
BARE = (
    r"\b(?:schikt|past|komt) (?:dat|u|je|het)\b",
    r"^(?:en |of |dan )*(?:kunt?|kan|wilt?|hebt?|heeft|bent?|zou|mag) (?:je|u|jij)\b",
    r"^(?:en |of )?(?:(?:voor|met|om|tot|vanaf|op|bij) )?(?:hoe (?:laat|lang|veel)|hoeveel|"
    r"welke?|wanneer|waar|wie|wat)\b",
)
MORE = (
    r"\b(?:maar|echter|niet|geen|nog steeds|behalve)\b|\b(?:alsjeblieft|alstublieft|aub|"
    r"graag)\b|\b(?:nodig|wil|willen|zou)\b"
    r"|\b(?:nu|dan) (?!is|werkt|klopt|doet|goed|snap|begrijp|staat|ziet)\w+|\b\w+ nu (?!wel|"
    r"goed|weer|echt|perfect|helemaal|prima)\w+"
)
OR = r"\bof\b(?! (?:het|de|dit|dat|deze|die|je|u|ik|er|alles|hij|ze|we)\b)"
DOING = (
    r"\btot nu toe\b",
    r"^(?:\w+ ){0,3}(?:controleren|zoeken|verwerken|laden|ophalen|analyseren|uitvoeren|"
    r"opslaan)$",
)
SOON = r"^(?:zodra|wanneer|nadat)\b"
WH = r"^(?:\w+,? ){0,2}(?:welke?|wat|wanneer|waar\w*|wie|hoeveel|hoe|waarom)\b"
KNOW = (
    r"\b(?:check\w*|controleer\w*|kijk\w*|zoek\w*|vind\w*|leg|analyseer\w*|vergelijk\w*|toon|"
    r"laat|samen|bereken\w*|onderzoek\w*|of|waarom|welke?|hoe|hoeveel|wanneer|wie|waar|wat)\b"
    r"|\b(?:opties|corrigeer|verbeter|vertaal|schrijf|leren|begrijp\w*)\b"
)
PRAISE = (
    r"super|top|perfect|geweldig|prima|mooi|fijn|lekker|heel goed|gelukt|het werkt|werkt|"
    r"eindelijk|netjes|uitstekend"
    r"|precies wat ik"
)
AND = r"[,;]? en (?:ook |dan |daarna )*"
