"""French: inversion ("pouvez-vous"), "est-ce que"; hyphens and apostrophes stay as they are."""

COMMON = (
    "le la les des une un et est je vous tu il elle nous pas que qui pour dans sur avec mon "
    "ma mes votre vos ton ta tes ce cette ces bonjour merci oui non c'est j'ai s'il plait au "
    "aux du ne se plus mais ou comment pourquoi quel quelle peux pouvez faire fait sont etre "
    "suis voudrais moi donc deja tout bien aussi encore peut avez y'a qu'est-ce est-ce "
    "d'accord ca en par"
)
YOU = r"\b(?:vous|votre|vos|tu|te|toi|ton|ta|tes|je|nous|me|moi)\b|-(?:vous|tu|je|nous)\b"
COURTESY = (
    r"^(?:comment|en quoi) (?:puis-je|je peux|est-ce que je peux) (?:vous |t')?aider\b",
    r"\b(?:autre chose|d'autres? (?:questions?|demandes?|besoins?|choses?))\b",
    r"\bdi(?:s|tes)-moi si (?:quelque chose|un point|besoin)\b",
)
OFFERS = (
    r"^(?:et |ou )?(?:voulez-vous|veux-tu|souhaitez-vous|souhaites-tu) \w+(?:er|ir|re|oir)\b",
    r"^(?:et |ou )?(?:voulez-vous|veux-tu|souhaitez-vous|souhaites-tu|aimeriez-vous|"
    r"aimerais-tu|tu veux|vous voulez|voudriez-vous)(?: egalement| aussi)? que (?:je|nous|"
    r"j')",
    r"^(?:si (?:vous (?:le )?(?:voulez|souhaitez|preferez|desirez)|tu (?:le )?(?:veux|"
    r"souhaites|preferes)))",
    r"\b(?:dites|dis)[- ]moi (?:simplement )?si (?:vous|tu|je)\b",
)
APPROVAL = (r"^(?:puis-je|je peux|est-ce que je peux) (?!aider|aussi|egalement|savoir|avoir)\w+",)
DEMANDS = (
    r"\bs'il (?:vous|te) plait,? (?:entre|indique|saisis|choisis|confirme|envoie|envoye|fournis|"
    r"precise|donne|donnez)\w*\b(?!.*\bsi\b)",
    r"\b(?:veuillez|merci de|priere de)\b(?! (?:votre|pour|patienter|noter|ne pas))",
    r"^(?:donne|donnez|indique|indiquez|envoie|envoyez|precise|precisez|dis|dites|fournis|"
    r"fournissez|choisis|choisissez|colle|collez|partage|partagez|confirme|confirmez|decris|"
    r"decrivez)(?:-moi|-nous| moi)?\b",
    r"^(?:pour .*?, |afin .*?, |d'abord,? |il me faut|il me faudrait|il me manque|"
    r"il me manquerait|il manque|il nous faut)?(?:j'ai|j'aurais|nous avons|"
    r"j'aurai)(?: encore| egalement| d'abord| seulement| juste)? besoin (?:de|du|d'|que|"
    r"des)(?! (?:verifier|regarder|chercher|quelques (?:minutes|secondes)|temps|reflechir))",
    r"\bil me (?:faut|faudrait|manque|manquerait)\b|\bil manque\b",
    r"^(?:voulez-vous|veux-tu|souhaitez-vous|souhaites-tu|avez-vous|as-tu|etes-vous|es-tu|"
    r"preferez-vous|preferes-tu|puis-je|dois-je|pouvez-vous|peux-tu|est-ce que)\b",
    r"\bsans (?:le|la|les|votre|ton|ta|vos|cette?|ces) .{2,60}\b(?:je|nous|impossible)\b",
    r"^(?:repondez|reponds|tapez|tape|ecrivez|ecris|dites|dis|envoyez|envoie|deposez|depose|"
    r"glissez|glisse)\b.{1,60}(?:\bet (?:je|nous|on)\b|\bici\b)",
    r"\bil ne (?:me )?manque (?:plus )?que\b",
)
NEEDS = r"\bpeux (?:vous |te )proposer\b.{3,80}\bou\b"
BEGINS = (
    r"\bje (?:vais|m'en occupe|regarde|verifie|cherche|lance|commence|consulte|reviens|m'occupe|"
    r"transmets|transfere|prepare|analyse|recherche|examine|demarre|continue|passe|recupere|"
    r"procede|teste|execute|calcule|lis|corrige|envoie|me renseigne|m'y mets|contacte|poursuis|"
    r"le fais|la fais)\b(?! (?:reste|vous en prie))",
    r"\bje (?:vous|te|le|la|les|l'|lui) (?:tiens|recontacte|reviens|rappelle|transfere|passe|"
    r"mets|fais|transmets|confirme|donne|envoie)\b",
    r"\bje dois (?:d'abord |encore |juste |avant )*\w+(?:er|ir|re)\b",
    r"^des que [^,]{3,90}, (?:je|nous|on)\b",
    r"\bje (?:vous |te |t\')(?:previens|avertis|ecris|reponds)\b",
    r"^(?:(?:bien|bon|ok|entendu|compris|tres bien),? )?je (?:creuse|fouille|m\'y colle)\b",
    r"\b(?:en (?:cours|route|attente de traitement))\b",
)
REFUSES = (
    r"\b(?:malheureusement|helas|je regrette)\b",
    r"\bje ne (?:peux (?:pas|plus)|suis pas)\b|\bne (?:peut|peuvent) pas etre\b|"
    r"\bil n'est pas possible\b|\bimpossible\b|\bje n'ai pas (?:acces|la possibilite|"
    r"le droit)",
)
DONE = (
    r"\b(?:c'est fait|termine|fini|voici|voila|pret|reussi|avec succes)\b",
    r"\b(?:j'ai|nous avons|a ete|ont ete|est|sont) (?:\w+ )?\w+(?:e|ee|es|ees|i|ie|is|u|ue|"
    r"us|it|ite)\b",
    r"✅|✔",
)
ALSO = (
    r"\b(?:aussi|egalement|en plus|de plus|en outre|ensuite|supplementaires?|par ailleurs|"
    r"un autre|une autre|d'autres)\b"
)
NODS = (
    r"ouf|bonjour|bonsoir|salut|coucou|hello|ok|okay|oui|ouais|d'accord|parfait|super|genial|"
    r"excellent|bien|tres|entendu|compris|je comprends|je vois|bien sur|exactement|exact|c'est|"
    r"bon|note|volontiers|pas de (?:souci|probleme)|aucun (?:souci|probleme)|nickel|impeccable|"
    r"top|cool|ah|oh|eh|hum+|alors|et|mais|donc|puis|s'il (?:vous|te) plait|svp|stp|ca marche|ca|"
    r"cela|va|me|convient|tout|clair|interessant|formidable|j'attends|je patiente|"
    r"tenez-moi au courant|tiens-moi au courant|monsieur|madame|(?:beaucoup|bien|c'est) mieux|"
    r"bien joue|beau travail|bravo|(?:je |j')(?:le |la |les )?(?:testerai|essaierai|regarderai|"
    r"verifierai|teste|essaie|m'en occupe|m'en charge|le fais)(?: ca| cela)?(?: (?:ce soir|demain|"
    r"plus tard|tout de suite))?|comme (?:ca|cela)|j'attends (?:jusqu'a |)\w+"
)
YES = (
    r"oui|ouais|d'accord|ok|okay|volontiers|bien sur|exactement|parfait|vas-y|allez-y|"
    r"c'est bon|ca marche|ca me va|avec plaisir|entendu"
)
THANKS = (
    r"(?:un grand |mille |grand )?merci(?: beaucoup| bien| infiniment| a vous| a toi|"
    r" encore| d'avance| mille fois)*(?: (?:pour|de) (?:votre|ton|ta|vos|tes|l'|la|le|les|"
    r"cette|ces|tout)[\w' ]{0,40})?|je (?:vous|te) remercie(?: [\w' ]{1,30})?"
)
FAREWELL = (r"desolee? (?:du|pour le) (?:derangement|bruit)",)
PROCEED = (
    r"(?:(?:oui,? )?je (?:le )?veux bien|(?:vas-y|allez-y|continue[zr]?|poursui[st]|"
    r"poursuivez|procede[zr]?|fais-le|faites-le|lance(?:z)?(?:-le|-la)?|suivant|"
    r"commence[zr]?|demarre[zr]?|encore(?: une fois)?|reessaye?z?|reessaie|recommence[zr]?|"
    r"relance(?:z)?(?:-le|-la)?|applique(?:z)?(?:-le|-la|-les)?|valide[zr]?|je (?:confirme|"
    r"valide|te laisse|vous laisse)|approuve|confirme|execute(?:z)?(?:-le|-la)?|"
    r"a toi de (?:voir|choisir)|comme (?:tu|vous) (?:veux|voulez)|peu importe|fais ca|"
    r"faites ca)(?: s'il (?:te|vous) plait)?)\b"
)
STOP = (
    r"(?:stop|arrete[zr]?|annule[zr]?|abandonne[zr]?|laisse(?:z)?(?: tomber| comme (?:ca|cela))?|"
    r"oublie(?:z)?(?: ca| cela)?|interromps|cesse[zr]?)(?: tout| ca| cela| la| s'il (?:te|"
    r"vous) plait| svp| stp| la tache| maintenant| tomber| de suite)*",
    r"(?:non,? )?(?:surtout pas|ne (?:le |la |les |l')?\w+ (?:pas|rien))",
    r"laissons (?:tomber|ca|comme ca)",
    r"(?:c'est bon,? )?j'ai (?:trouve|resolu|regle)(?: moi-meme| tout seul)?|trouve|(?:ca |"
    r"tout )?(?:remarche|refonctionne)(?: tout seul| maintenant)?",
    r"plus besoin(?: finalement)?|finalement (?:plus|pas) besoin",
)
REDIRECT = (
    r"^(?:non[,.;:!]? |attends?[,.;:!]? |attendez[,.;:!]? |ah[,.;:!]? |ok[,.;:!]? |"
    r"oh[,.;:!]? |mais |hmm?[,.;:!]? )*(?:en fait|finalement|plutot|au lieu|a la place|"
    r"oublie|oubliez|laisse[zs]?(?: tomber)?|stop|arrete[zr]?|changement|tout compte fait|"
    r"j'ai change d'avis|reflexion faite|en realite)\b",
    r"\bplutot\b",
    r"^(?:non\W+)*je (?:parlais|pensais a|voulais dire|faisais reference)\b",
)
WISHES = (
    r"(?:je|j'|nous|on) ?(?:veux|voudrais|voudrions|souhaite|souhaiterais|"
    r"cherche|aimerais|ai besoin|avons besoin)\b",
    r"(?:pouvez|pourriez|peux|pourrais)[ -](?:vous|tu)\b",
    r"(?:tu|vous) (?:peux|pourrais|pouvez|pourriez)\b",
    r"(?:s'il (?:te|vous) plait|merci de),? \w+",
    r"(?:et |aussi,? )?(?:comment|pourquoi|quand|combien|quel(?:le)?s?|ou|qu'est-ce|qui|"
    r"est-ce que)\b.*",
)
CONDITIONS = r"^(?:si|des que|une fois|quand|lorsque|apres)\b"
OPEN = (
    r"\b(?:(?:comment|en quoi) (?:puis-je|peut-on|pouvons-nous) )|"
    r"\b(?:que (?:souhaitez|voulez|souhaites|veux|puis)|qu'est-ce que (?:vous|tu) (?:voulez|"
    r"veux|souhaitez|souhaites)|de quoi (?:avez|as|s'agit)|quel est (?:le|votre|"
    r"ton) (?:probleme|souci))\b"
)
BARE = (r"\b(?:ca|cela) (?:vous|te) (?:va|convient)",)
MORE = (
    r"\b(?:mais|pourtant|pas|encore|toujours|sauf)\b|\bs'il (?:te|vous) plait\b|\b(?:stp|"
    r"svp)\b|\b(?:besoin|veux|voudrais|aimerais|faudrait)\b"
)
OR = r"\bou\b"
DOING = (
    r"^je (?:(?:le|la|les|l'|lui|vous|te|t'|m'|me|en|y) ?)*(?!pense|crois|recommande|suggere|"
    r"conseille|suis\b|comprends|souhaite|espere|propose|peux|dois|regrette|trouve|prefere|"
    r"doute|remercie|reste|n'|ne\b|viens de|constate|vous en prie)\w{2,}(?:e|s)\b",
)
SOON = r"^(?:des que|une fois|quand|lorsque|apres)\b"
WH = (
    r"^(?:\w+,? ){0,2}(?:quel(?:le)?s?|quand|ou|qui|combien|comment|pourquoi|lequel|laquelle|"
    r"que|qu'est-ce|qu'est ce|quoi|est-ce que (?!(?:tu|vous|je|on)\b))\b"
)
KNOW = (
    r"\b(?:verifi\w*|regarde\w*|cherche\w*|trouve\w*|expliqu\w*|analys\w*|compar\w*|montre\w*|"
    r"resum\w*|liste\w*|calcul\w*|si|pourquoi|quel\w*|comment|combien|quand|qui)\b"
    r"|\b(?:options|corrig\w*|tradui\w*|ecri\w*|redig\w*|appren\w*|compren\w*)\b"
)
PRAISE = (
    r"super|genial|parfait|excellent|nickel|top|impeccable|formidable|bravo|ca marche|ca "
    r"remarche|ca fonctionne|enfin|trop bien|tres bien|chouette"
    r"|c'est (?:exactement|precisement|pile) ce qu\w*|exactement ce qu\w*|pile ce qu\w*"
)
AND = r"[,;]? (?:et|puis) (?:aussi |puis |ensuite )*"
