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
    r"^(?:et )?que puis-je (?:faire )?d'autre\b|^(?:est-ce que )?(?:ce|ca) sera tout\b",
    r"^(?:est-ce que )?(?:ca|cela) (?:te |vous |t'|l')?(?:aide|repond|suffit|resout|regle)\b",
    r"\bdi(?:s|tes)-moi si (?:quelque chose|un point|besoin)\b",
)
OFFERS = (
    r"^(?:c'est|est-ce) clair\b|^(?:tu en veux|vous en voulez|en veux-tu|en voulez-vous)\b",
    r"^(?:et |ou )?(?:voulez-vous|veux-tu|souhaitez-vous|souhaites-tu|aimeriez-vous|aimerais-tu|"
    r"tu veux|vous voulez|avez-vous|as-tu|desirez-vous)(?: aussi| egalement| encore)* (?:besoin d|"
    r"une? |des |les? |la |l'|plus |\w+(?:er|ir|re|oir)\b).*\?$",
    r"^(?!.* (?:reserve|commande|achete|annule|confirme|valide)\b)(?:dois-je|est-ce que je|je|j') "
    r"?(?:m'en |m'|te |t'|vous |le |la |les |l'|lui )*"
    r"(?!peux\b|ne\b|vous |dois\b)\w+.*\?$",
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
    r"\bmerci d'(?:envoyer|indiquer|ajouter|attacher)|(?:^|: )(?:et )?(?:votre|ton|ta|vos) [\w' "
    r"-]{2,30},? "
    r"s'il (?:vous|te) plait\W*$",
    r"\bs'il (?:vous|te) plait,? (?:entre|indique|saisis|choisis|confirme|envoie|envoye|fournis|"
    r"precise|donne|donnez)\w*\b(?!.*\bsi\b)",
    r"\b(?:veuillez|merci de|priere de)\b(?! (?:votre|pour|patienter|noter|ne pas|conserver|garder|"
    r"contacter|consulter|attendre|vous (?:adresser|rapprocher)))",
    r"\bj'attends (?:votre|ta|ton|vos)\b|\bet (?:envoie|envoye|colle|dis|dite|donne|"
    r"partage)[szr]?[- ]"
    r"(?:moi|le|la)\b",
    r"^(?:donne|donnez|indique|indiquez|envoie|envoyez|precise|precisez|dis|dites|fournis|"
    r"fournissez|choisis|choisissez|colle|collez|partage|partagez|confirme|confirmez|decris|"
    r"decrivez)(?:-moi|-nous| moi)?\b(?! (?:un|une|deux|quelques) (?:petite? )?(?:instant|"
    r"moment|seconde|minute))",
    r"^(?:pour .*?, |avant .*?, |afin .*?, |d'abord,? |il me faut|il me faudrait|il me manque|"
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
    r"\bnous (?:etudions|analysons|consultons)\b|\bj'adapte\b|\bje me penche\b|\bje (?:les|la|le) "
    r"(?:corrige|"
    r"repare)\b|\b(?:equipe|service|collegue) (?:verifie|regarde|etudie|s'en occupe)\b",
    r"^(?:(?:ok|d'accord|bien|un|une|deux|quelques|juste|encore|petite?|veuillez|merci de|"
    r"patienter|"
    r"s'il vous plait),? )*(?:instant|moment|seconde|minute)s?\b|\bpatienter\b|\bne quittez pas\b",
    r"\b(?:donne|laisse|accorde)z?-(?:moi|nous) (?:un|une|deux|quelques|le temps)\b",
    r"\bje (?:suis (?:deja )?dessus|suis (?:encore |toujours )?en train|m'en charge|check|fais "
    r"(?:ca|"
    r"cela))\b|\bj'y travaille\b|\bj'(?:examine|ouvre|analyse|envoie|essaie|ajoute|applique|"
    r"execute|"
    r"interroge|enquete)\b",
    r"\b(?:re)?contacter(?:a|ont)\b|\breviendr(?:a|ont) vers\b|\bva s'en occuper\b|\bvous (?:aurez|"
    r"recevrez) une reponse\b",
    r"\b(?:ca|cela) (?:va prendre|prendra|prend)\b.*\b(?:minutes?|secondes?|heures?)\b|"
    r"\btourne(?:nt)?"
    r" (?:encore|toujours)\b|\bpas encore (?:fini|termine)\b",
    r"\bnous (?:verifions|cherchons|examinons|traitons|revenons|enquetons)\b|^(?:[\w ]+, "
    r")?(?:voyons|"
    r"regardons|verifions) (?:ce|si|ca|cela|d'abord|le|la|ou)\b",
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
# What agents report of their own work.
_DEEDS = (
    r"(?:active|ajoute|annule|applique|change|commande|configure|confirme|converti|copie|corrige|"
    r"cree|deplace|deploye|desactive|ecrit|efface|enregistre|envoye|execute|fait|fini|fusionne|"
    r"genere|implemente|importe|installe|livre|mis|modifie|nettoye|paye|pousse|programme|publie|"
    r"refactorise|regle|relance|rembourse|remplace|renomme|repare|reserve|resilie|resolu|reussi|"
    r"reecrit|sauvegarde|supprime|termine|teste|traduit|traite|transfere|valide)e?s?"
)
DONE = (
    r"\b(?:c'est fait|termine|fini|voici|voila|pret|reussi|avec succes)\b",
    rf"\b(?:ai|avons|on a|a ete|ont ete|est|sont)(?: \w+ment| bien| deja| aussi| tout)* "
    rf"(?:{_DEEDS})\b",
    r"\b(?:est|sont)(?: \w+ment| bien)? \w{4,}ees?\b|\bc'est (?:reparti|bon|regle|pret)\b",
    rf"^(?:\w+ ){{0,3}}(?:{_DEEDS})(?: maintenant)?\W*(?:$|,|\()",
    r"\b(?:passent?|marche|fonctionne)(?: maintenant| a nouveau| de nouveau| bien)*\W*(?:$|,)|"
    r"\b(?:au|est(?: de nouveau)?) vert\b",
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
    r"plus tard|tout de suite))?|prends ton temps|prenez votre temps|rien ne presse|bon a savoir|"
    r"magnifique|"
    r"(?:ca|cela) (?:l')?a (?:bien )?(?:regle|resolu|marche|fonctionne|aide)(?: le probleme)?|"
    r"c'etait "
    r"rapide|(?:ca|cela) (?:fonctionne|marche)(?: maintenant| bien)?|je suis (?:contente?|"
    r"satisfaite?|"
    r"ravie?)|comme (?:ca|cela)|j'attends (?:jusqu'a |)\w+"
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
FAREWELL = (
    r"desolee? (?:du|pour le) (?:derangement|bruit)",
    r"non|(?:non,? )?(?:c'est|ce sera) tout(?: (?:pour|merci)\b.{0,25})?|non,? c'est (?:bon|"
    r"parfait)",
    r"rien(?: d'autre| de plus)?|(?:non,? )?tout (?:va bien|est (?:bon|ok))",
    r"pas (?:pour (?:l'instant|le moment)|maintenant|encore|besoin|la peine|necessaire)",
    r"(?:peut-etre )?plus tard(?: peut-etre)?|(?:ce n'est|c'est) pas (?:necessaire|la peine|utile)",
    r"au revoir\b.{0,30}|(?:bonne|excellente|belle) (?:journee|soiree|nuit|continuation|"
    r"fin)\b.{0,30}",
    r"a (?:demain|bientot|plus|plus tard|la prochaine)|ciao|bye",
)
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
    r"(?:(?:en fait|finalement|non|ok|bon|desolee?),? )*"
    r"(?:stop|arrete[zr]?|annule[zr]?|abandonne[zr]?|laisse(?:z)?(?: tomber| comme (?:ca|cela))?|"
    r"oublie(?:z)?(?: ca| cela)?|interromps|cesse[zr]?)(?: tout| ca| cela| la| s'il (?:te|"
    r"vous) plait| svp| stp| la tache| maintenant| tomber| de suite)*",
    r"(?:non,? )?(?:surtout pas|ne (?:le |la |les |l'|l)?(?:fai\w+|touche|"
    r"envoie|lance|change|supprime|modifie|publie|commence|pousse)[szr]? (?:pas|rien))",
    r"finalement non|(?:c'est|tout est|ca s'est)(?: deja)? (?:regle|resolu|arrange)(?: tout seul)?|"
    r"je n'en ai "
    r"plus "
    r"besoin|ce n'est plus (?:necessaire|la peine|utile)|(?:ca|cela) ne m'interesse plus|(?:tu "
    r"peux|"
    r"vous pouvez) (?:arreter|laisser tomber)|j'ai change d'avis|je ne (?:veux|souhaite) plus "
    r".{1,30}",
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
VERBS = (
    r"ajoute|ajuste|analyse|annule|applique|appelle|arrete|calcule|change|cherche|compare|compile|"
    r"construi|converti|copie|corrige|cree|deploie|deplace|developpe|dessine|documente|donne|ecri|"
    r"ecrive|efface|enleve|enregistre|envoie|envoye|essaie|essaye|execute|explique|exporte|extrai|"
    r"fai|faite|ferme|genere|implemente|importe|imprime|installe|integre|li|lance|loue|met|mette|"
    r"modifie|montre|nettoie|nettoye|optimise|organise|ouvre|passe|planifie|prepare|prend|propose|"
    r"publie|"
    r"rajoute|rappelle|redige|redui|refai|refactorise|reformule|regarde|relance|remplace|renomme|"
    r"repare|repond|reserve|resume|retire|reecri|sauvegarde|simplifie|supprime|tradui|transforme|"
    r"trie|trouve|utilise|valide|verifie"
)
WISHES = (
    r"(?:je|j'|nous|on) ?(?:veux|voudrais|voudrions|souhaite|souhaiterais|"
    r"cherche|aimerais|ai besoin|avons besoin)\b",
    r"(?:pouvez|pourriez|peux|pourrais)[ -](?:vous|tu)\b",
    rf"(?:maintenant |ensuite |puis |aussi |et |d'abord )*(?:{VERBS})[szr]?(?:-\w+)* "
    r"(?!pas\b|plus\b|rien\b)\w+",
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
BARE = (
    r"\b(?:ca|cela) (?:vous|te) (?:va|convient)",
    r"^(?:et |donc |alors |ok )*(?:(?:a|de|en|pour|par|avec|d'ou|vers) ?)?(?:quel(?:le)?s?|quand|"
    r"combien|comment|lequel|laquelle)\b(?! (?:je|nous)\b)",
)
MORE = (
    r"\b(?:mais|pourtant|pas|encore|toujours|sauf)\b|\bs'il (?:te|vous) plait\b|\b(?:stp|"
    r"svp)\b|\b(?:besoin|veux|voudrais|aimerais|faudrait)\b"
)
OR = r"\bou\b"
DOING = (
    r"^laisse[zr]?-moi \w+(?:er|ir|re)\b",
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
