"""Portuguese, European and Brazilian; people type it with and without accents."""

COMMON = (
    "o a os as um uma de do da dos das que e em no na nos nas por para com meu minha meus seu "
    "sua voce voces eu nao sim mas como qual onde quando obrigado obrigada ola oi favor quero "
    "pode preciso esta este essa isso isto estou tenho foi ja muito mais bem ou ao sao ser "
    "fazer tudo bom boa dia tambem agora porque vou algo sobre gostaria me se pra ta ele ela "
    "so"
    " te lhe sem quem mim ti nosso nossa ate ainda era tem ha"
)
YOU = (
    r"\b(?:voces?|tu|te|seu|sua|seus|suas|teu|tua|eu|me|meu|nos|pode|poderia|quer|prefere|"
    r"gostaria|deseja|queres|preferes|tem)\b"
)
COURTESY = (
    r"^(?:como|em que|no que) (?:eu )?(?:posso|podemos) (?:te |lhe |o |a )?ajud\w+\b",
    r"\b(?:algo|alguma|mais alguma|outra) (?:mais|coisa|outra coisa|duvida|pergunta|"
    r"questao)\b",
    r"^(?:em|no) que mais\b|^precisando\b",
    r"\b(?:teste|testa|experimente|experimenta|confira|confere|veja|tenta|"
    r"tente)\b.{0,40}\b(?:se (?:funcion\w+|deu certo|resolveu|ficou|esta|gost\w+)|o que acha)",
)
OFFERS = (
    r"^(?:e |ou )?(?:voce )?(?:quer|queres|deseja|gostaria de|prefere)(?: \w+r\b|\W*$)",
    r"^(?:e |ou )?(?:voce )?(?:quer|queres|deseja|gostaria|prefere)(?: tambem)? que (?:eu|"
    r"nos)\b",
    r"^(?:e |ou )?(?:voce )?(?:quer|queres|deseja|gostaria de) (?:isso|\w+[aei]r(?:-\w+)?)\b",
    r"^(?:se|caso) (?:voce )?(?:quiser|desejar|preferir|queira|deseje|prefira|quiseres|"
    r"for util|achar)\b",
    r"^(?:eu )?(?:tambem )?(?:posso|podemos|poderia) (?:tambem|ainda|ajudar|alem)\b",
    r"^(?:e |ou )?(?:voce )?(?:quer|queres|deseja|gostaria)(?: tambem)? que (?:(?:te|lhe|o|a) "
    r")?\w+[ae]\b|^(?:e |ou )?(?:voce )?(?:quer|queres|deseja|gostaria|precisa|precisas|"
    r"necessita)\b.*\b(?:tambem|mais alguem)\b|^que tal\b",
    r"^(?:e |ou )?(?:eu )?(?:devo|posso|podia|podemos) (?!saber|perguntar|assumir|considerar|"
    r"supor|te perguntar|ter\b)\w+[aei]r\b",
    r"^(?:era|e) (?:so )?(?:isso|isto) (?:mesmo )?(?:o )?que\b|^(?:ficou|fica|esta|ta) (?:bom|"
    r"bem|ok|otimo|claro)(?: assim| para voce| pra voce| para ti)?\W*$|^faz sentido\b",
)
APPROVAL = (
    r"\b(?:posso|devo|podemos|quer que eu|deseja que eu) (?:prosseguir|continuar|seguir|proceder|"
    r"avancar|prossiga|continue|siga|proceda|executar|execute|aplicar|aplique|enviar|envie|"
    r"cancelar|cancele|excluir|exclua|reservar|reserve|publicar|publique|confirmar|apagar|"
    r"apague)\b",
    r"\b(?:confirma|aprova|autoriza|confirme|aprove)\b",
    r"\b(?:posso|podemos|devo|quer que eu) (?:comec[ae]r?|inici[ae]r?)\b",
)
DEMANDS = (
    r"^(?:por favor,? |agora )(?:digite|insira|preencha|escreva|informe|confirme|escolha)\b"
    r"(?!.*\bse\b)",
    r"^(?:digite|insira|escreva|informe) (?:o |a |os |as )?(?:seu|sua)\b"
    r"(?!.*\b(?:se|e|depois)\b)"
    r"|^escolha uma?\b",
    r"\b(?:me (?:informe|diga|envie|passe|mande|fale|conte|forneca|confirme|da|de|passa|manda)|"
    r"(?:informe|diga|envie|forneca|indique|diz|envia)-me)\b(?! se (?:quer|quiser|precisar|"
    r"desejar))",
    r"^(?!para (?:testar|ver|usar|instalar|rodar|conferir|acessar)\b)"
    r"(?:.*?(?:[,;:] |\be |\bpor favor ))?"
    r"(?:informe|envie|forneca|compartilhe|partilhe|indique|"
    r"especifique|escolha|selecione|descreva|cole|confirme|anexe|responda|esclareca|mande|"
    r"informa)\b(?! se (?:quer|quiser|precisar|desejar))",
    r"^(?:para (?:[^,]*, |[\w ]{2,30} (?=precis|necessit))|antes .*?, |primeiro,? |tambem |"
    r"so |apenas |ainda |"
    r"mas )*(?:eu )?(?:preciso|precisaria|necessito|precisamos|vou precisar|vamos precisar|"
    r"falta|faltam)\b(?! \w+[aei]r\b)(?! (?:de )?(?:um (?:momento|minuto|segundo)|verificar|"
    r"checar|olhar|"
    r"analisar|consultar|mais tempo))",
    r"\bsem (?:o|a|os|as|seu|sua|esse|essa) .{2,60}\bnao (?:consigo|posso|da|e possivel)\b",
    r"^(?:claro|certo|ok|beleza)?\W*(?:voce )?pode(?:ria)? (?:colar|anexar|mandar|enviar|"
    r"subir|colocar|digitar|escrever)\b",
    r"\b(?:preciso|precisamos|precisava|precisaria|gostaria|so falta)(?: so| apenas| "
    r"ainda)?(?: de)? (?:saber|entender|que (?:voce|me|o senhor|a senhora|confirme))\b|\bme "
    r"confirma\b",
    r"^(?:\w+, )?(?:aguardo|aguardamos|fico no aguardo|fico aguardando|fico a (?:espera|"
    r"aguardar))\b(?! (?:a |o )?(?:resposta|retorno|confirmacao) d[aoe]s? (?!voce|senhor))|"
    r"^(?:so |apenas |ainda )*falt(?:ou|aram)\b",
    r"^(?:por favor,? )?(?:digite|responda|escreva|clique|envie|diga|pressione|selecione|"
    r"toque)\b.{1,80}\bpara (?:\w+ )?(?:continuar|prosseguir|confirmar|aprovar|concluir|"
    r"finalizar|autorizar)\b",
    r"\bnao (?:\w+ ){0,2}(?:claro|entendi|certeza|percebi|compreendi)\b.{0,25}\b(?:qual|quais|"
    r"que)\b",
    r"^para (?:isso|isto|\w+[aei]r(?: \w+){0,4}),? (?:eu )?(?:vou|vamos) precisar d",
    r"^(?:o |a )?(?:seu|sua)\b.{1,40}\bpor favor$|\b(?:me mostr[ea]|mostr[ea]-me)\b",
)
NEEDS = (
    r"^(?!se (?:voce )?(?:quiser|preferir|desejar)).*\bme (?:diga|diz|fala|fale|conta|conte|"
    r"manda|mande|passa|passe|envia|envie) (?:o|a|os|as|"
    r"qual|quais|como|onde|quando|o que)\b|^se (?:voce )?me (?:der|passar|enviar|mandar|disser|"
    r"informar)\b.{3,90}\b(?:consigo|posso|eu \w+o)\b"
    r"|^(?:assim que|quando|logo que|depois que) (?:voce |tu |o senhor |a senhora )?(?:(?:me |"
    r"nos )(?:\w{3,}[aei]r(?:es)?|der(?:es)?|disser(?:es)?)|(?:confirmar|tiver|souber|aprovar|"
    r"autorizar)(?:es)?)\b"
    r"|^se (?:voce )?me (?:responder|falar|contar|explicar|dizer|indicar)\b|^com (?:isso|isto|"
    r"essas? \w+|esses \w+)(?: em maos)?,? (?:eu |ja |consigo |posso |te |lhe |vou )"
)
BEGINS = (
    r"\b(?:vou|vamos|irei|iremos) (?!precisar|ficar feliz|ver um|supor|dizer)\w+r\b|"
    r"\bvou te \w+|\bprosseguirei\b",
    r"\bestou (?:verificando|buscando|consultando|analisando|trabalhando|processando|executando|"
    r"procurando|preparando|checando|a (?:verificar|procurar|analisar|trabalhar|processar|"
    r"consultar|tratar))\b",
    r"\b(?:ainda|segue|continua) (?:esta )?(?:rodando|em andamento|em execucao|processando|"
    r"correndo)\b",
    r"^(?:(?:beleza|ok|certo|claro|bom),? )?(?:vou atras|ja vejo|ja olho|vejo isso)\b",
    r"\b(?:esta|estao) sendo \w+",
    r"\b(?:continuo|sigo) (?:a \w+r|\w+(?:ando|endo|indo))\b",
    r"\b(?:um|uns|1|dois) (?:momento|instante|minut|segund)(?:o|os|inhos?)?\b|\b(?:um|so um) "
    r"(?:momentinho|instantinho|segundinho)\b|^aguarde\b",
    r"\b(?:deixa|deixe)(?:-me| eu| que eu)? (?:\w+ )?\w+[aei]r\b|\bdeixa comigo\b|^pode "
    r"deixar\b|\bmaos a obra\b|\bconte comigo para\b",
    r"\bestou (?:a \w+r\b|(?!vendo que|entendendo|falando|considerando|assumindo|supondo|"
    r"usando|tendo|sendo|querendo|me referindo)\w+(?:ando|endo|indo)\b)",
    r"\bja (?:te |lhe |o |a |isso )?(?!\w+(?:ado|ido|ito|sto)\b|tenho|posso|sinto|acho|"
    r"entendo|muito|certo|pronto|quero|conheco|como|no\b)\w{3,}o\b|\b(?:eu )?(?:te|lhe|vos) "
    r"(?:aviso|digo|falo|retorno|respondo|informo|comunico|mando noticias)\b",
    r""
    r"rei\b(?<=\w\w[aei]rei)(?<!poderei)(?<!precisarei)(?<!ficarei)"
    r"|remos\b(?<=\w\w[aei]remos)(?<!poderemos)(?<!precisaremos)|\bfar(?:ei|emos)\b",
    r"\breceber(?:a|as) (?:uma |um |o |a )?(?:resposta|retorno|contato|contacto|noticias)\b|"
    r"\b(?:vao|ira|irao) (?:te |lhe |o |a )?(?:retornar|responder|contatar|contactar|ligar|"
    r"entrar em contato|avisar)\b|\bentrarao em contat\w\b|\bencaminhei (?:o |a )?(?:seu|"
    r"sua)\b",
    r"\bem (?:andamento|analise|processamento|curso|execucao|tratamento)\b",
    r"\bainda nao (?:terminei|acabei|conclui|recebi|respond\w+|tenho (?:a )?resposta|chegou|"
    r"terminou)\b|\b(?:esperando|aguardando|a espera d\w|a aguardar) (?:pel[oa] |[oa]s? "
    r")?(?!seu|sua|voce|vossa|tua|teu)\w+",
    r"\b(?!\w+(?:nd|ad|id)o\b|pronto|certo|aberto|tudo|mesmo|novo)\w{3,}o (?:isso |isto "
    r")?(?:agora mesmo|agora|ja|imediatamente|de imediato|em seguida|de seguida)$|\b(?:comeco|"
    r"inicio|avanco|prossigo) (?:por|com|a|pel[oa])\b",
    r"\bquase (?:\w+ndo|pronto|la)\b|\bprecis\w+ de (?:alguns|uns|mais) (?:minutos|instantes|"
    r"segundos|tempo)\b",
)
REFUSES = (
    r"\b(?:infelizmente|lamento|lamentavelmente)\b",
    r"\bnao (?:posso|podemos|e possivel|esta disponivel|consigo|tenho (?:acesso|permissao)|"
    r"pode|podem|ha como|da para)\b|\bimpossivel\b",
)
DONE = (
    r"\b(?:pronto|feito|concluido|concluida|finalizado|resolvido|terminado|aqui (?:esta|"
    r"estao|tem|vai)|com sucesso)\b",
    r"\b(?:foi|foram|ja esta|esta|estao|tenho|ficou) (?:\w+ )?\w+(?:ado|ido|ada|ida|ados|"
    r"idos|adas|idas|ito|ita|sto|to)\b",
    r"\b(?:adicionei|criei|corrigi|atualizei|removi|enviei|implementei|cancelei|reservei|"
    r"fiz|alterei|gerei|escrevi|encontrei)\b",
    r"✅|✔",
    r""
    r"ei\b(?<=\w\w\wei)(?<![aei]rei)(?<!gostei)(?<!pensei)(?<!notei)(?<!achei)(?<!olhei)"
    r"(?<!quei)(?<!analisei)(?<!comecei)(?<!reparei)(?<!tentei)(?<!precisei)(?<!cheguei)|\b(?:corrigi|"
    r"inclui|reescrevi|movi|resolvi|abri|inseri|converti|traduzi)\b",
)
ALSO = r"\b(?:tambem|alem disso|adicional|adicionalmente|outr[ao]s?|ainda|depois|em seguida)\b"
NODS = (
    r"ufa|ajudou (?:muito|demais)|ola|oi|bom dia|boa (?:tarde|noite)|ok|okay|sim|claro|certo|"
    r"perfeito|otimo|excelente|bem|muito|muito bem|de acordo|entendi|entendido|compreendo|beleza|"
    r"blz|com certeza|exatamente|exato|isso|correto|por favor|sem problemas?|nao tem problema|ah|"
    r"oh|eh|hm+|entao|e|mas|bom|boa|legal|show|maravilha|que bom|otima|combinado|interessante|"
    r"fantastico|super|tudo|parece|esta|ta|fixe|pois|percebi|aguardo|fico no aguardo|me avise?|"
    r"avise-me|joia|tranquilo|(?:muito|bem) melhor|bom trabalho|mandou bem|boa|(?:agora|"
    r"ja) (?:foi|deu|vai)|(?:eu )?(?:testo|tento|vejo|faco isso|faco)(?: (?:hoje(?: a noite)?|"
    r"amanha|depois|mais tarde|agora))?|certinho|funcionando|assim"
    r"|tudo bem|sem pressa|com calma|(?:eu )?(?:espero|aguardo)|(?:me )?avisa?(?:-me)? quando "
    r"(?:\w+ ){0,2}(?:terminar|acabar|pronto)(?:es)?|fico (?:a|no) (?:espera|aguardo)|pela "
    r"ajuda|pode ser|ficou (?:otimo|bom|perfeito|lindo|show)|impecavel|nota (?:10|dez)"
    r"|mudei de ideias?"
    r"|agora sim|(?:eu )?vou (?:testar|ver|tentar|experimentar|conferir|dar uma olhada)(?: "
    r"(?:isso|aqui|depois|agora|mais tarde|hoje|amanha))*"
    r"|ah,? saquei|saquei|entendi tudo"
)
YES = (
    r"sim|claro|ok|okay|de acordo|perfeito|com certeza|pode|pode ser|isso|exato|correto|"
    r"certo|faz isso|faca isso|por favor|beleza|quero"
)
THANKS = (
    r"(?:muito |mt )?(?:obrigad[oa]|obg|valeu|brigad[oa])(?: mesmo| demais| de novo|"
    r" mais uma vez| igualmente)*(?: (?:pela|pelo|por|pelas|pelos) [\w ]{1,40})?|"
    r"agradeco(?: [\w ]{1,30})?|grat[oa]"
)
FAREWELL = (
    r"(?:nao[,.! ]*)?(?:(?:isso|era|so|e) )+(?:isso|tudo|so isso)(?: mesmo)?.{0,40}",
    r"(?:nao|nada|nada mais|mais nada|nenhuma|por enquanto (?:nao|so|e so)|agora nao|"
    r"por agora (?:nao|e tudo)|sem mais (?:perguntas|duvidas))",
    r"(?:ate (?:mais|logo|amanha|breve|a proxima|ja|depois)|tchau|adeus|abracos?|um "
    r"abraco)\b[^;\u3001\uff0c]*",
    r"(?:tenha|tem|um|uma) (?:um |uma )?(?:bom|boa|otim[oa]) [\w ]{1,30}|(?:bom|boa) (?:fim de "
    r"semana|fds|semana)|(?:bom|boa) \w+ (?:para|pra) (?:voce|ti|vc|si)(?: tambem)?",
    r"(?:por (?:hoje|agora|enquanto) )?e (?:so|tudo)(?: por (?:hoje|agora|enquanto))?|por "
    r"(?:hoje|agora) e so|(?:nao,? )?(?:e )?so isso",
)
PROCEED = (
    r"(?:quero(?: sim)?|sim,? por favor|pode (?:continuar|seguir|prosseguir|fazer|ir|"
    r"executar|comecar|aplicar|mandar|enviar|ser)|continue|continua|prossiga|prossegue|siga|"
    r"segue|va em frente|vai em frente|avance|avanca|faca isso|faz isso|faca|proximo|"
    r"proxima|comece|comeca|de novo|novamente|outra vez|tente (?:de novo|novamente|"
    r"outra vez)|tenta (?:de novo|novamente|outra vez)|execute(?: de novo| novamente)?|"
    r"rode(?: de novo| novamente)?|roda de novo|repita|aplique|aprovado|aprovo|confirmado|"
    r"confirmo|tanto faz|voce (?:decide|escolhe)|como (?:quiser|preferir|achar melhor)|"
    r"manda ver|bora)\b"
)
STOP = (
    r"(?:entao )?(?:deixa|deixe|fica) (?:como esta|assim)(?: entao| mesmo)?",
    r"(?:pare|para|parar|stop|cancele|cancela|cancelar|aborte|aborta|esqueca|esquece|deixa|"
    r"deixe|chega|desista)(?: isso| tudo| pra la| para la| por favor| ai| agora| a tarefa|"
    r" com isso| quieto| estar)*",
    r"nao (?:precisa|e) (?:mais|preciso|necessario)[^,;\u3001\uff0c]{0,40}",
    r"(?:vamos )?deixar? (?:pra la|assim|quieto|como esta)",
    r"(?:ja )?nao (?:e|esta|foi) (?:mais )?(?:preciso|necessario)(?: mais)?|(?:pode|podes|"
    r"quero) (?:cancelar|parar|esquecer)(?: tudo| isso)?|nao quero mais(?: isso| nada)?",
    r"nao (?:faca|faz|facas|envie|envies|mande|mandes|mexa|mexas|apague|apagues)(?: (?:isso|"
    r"isto|nada|mais))*|ja (?:resolvi|consegui|achei|encontrei|fiz|tratei)(?: (?:isso|eu "
    r"mesmo|eu mesma|sozinh[oa]|aqui))*|(?:deixa |deixe )?(?:que )?eu "
    r"(?:mesm[oa] )?(?:faco|reservo|resolvo)",
    r"nao precisa(?: nao| disso| de nada)?",
)
REDIRECT = (
    r"^(?:nao[,.;:!]? |espera[,.;:!]? |espere[,.;:!]? |ah[,.;:!]? |ok[,.;:!]? |bom[,.;:!]? |"
    r"mas |hmm?[,.;:!]? )*(?:na verdade|alias|melhor|em vez|ao inves|esquece|esqueca|deixa|"
    r"deixe|para|pare|mudei de|mudanca de planos|pensando bem|afinal|antes disso)\b",
    r"\b(?:em vez|ao inves) (?:de|disso|disto)\b",
    r"^(?:nao\W+)*(?:eu )?(?:falei d|quis dizer|me referi|estava falando)\w*",
    r"^(?:nao,? )?nao (?:e|era|foi) (?:bem )?(?:isso|ess[ea]|est[ea]|o que)\b|^pensando "
    r"(?:bem|melhor)\b",
)
WISHES = (
    r"(?:eu )?(?:quero|queria|preciso|desejo|gostaria|procuro|to procurando)\b",
    r"(?:voce )?(?:me )?(?:pode|poderia|consegue)s?\b",
    r"por favor,? \w+",
    r"(?:e |tambem )?(?:como|por que|porque|quando|quanto|quantos|qual|quais|onde|o que|"
    r"quem)\b.*",
    r"(?:agora |entao |por favor,? |pf,? |so |e |tambem |depois )*(?:cri[ae]|faca|faz|"
    r"adicion[ae]|corrij[ae]|corrige|arrum[ae]|mud[ae]|alter[ae]|troc[ae]|remov[ae]|apag[ae]|"
    r"exclu[ai]|atualiz[ae]|verifi(?:ca|que)|olh[ae]|veja|ve|mostr[ae]|expli(?:ca|que)|"
    r"list[ae]|escrev[ae]|ger[ae]|rod[ae]|execut[ae]|test[ae]|instal[ae]|analis[ae]|resum[ae]|"
    r"traduz|traduza|mand[ae]|envi[ae]|colo(?:ca|que)|bot[ae]|ponha|poe|tir[ae]|implement[ae]|"
    r"refator[ae]|organiz[ae]|compar[ae]|calcul[ae]|bus(?:ca|que)|procur[ae]|pesquis[ae]|"
    r"revis[ae]|ajust[ae]|melhor[ae]|salv[ae]|reserv[ae]|mar(?:ca|que)|agend[ae]|cancel[ae]|"
    r"compr[ae]|leia|abr[ae]|fech[ae]|resolv[ae]|monte|monta|prepar[ae]|inclui|inclua|"
    r"deix[ae])\b (?!(?:isso|isto|ele|ela|tudo|pra la|assim|quieto)?\W*$)",
)
CONDITIONS = r"^(?:se|caso|quando|assim que|depois que|uma vez)\b"
OPEN = (
    r"\b(?:(?:em que|como|no que) (?:eu )?(?:posso|podemos) (?:te |lhe |o |a )?ajud)|"
    r"\b(?:o que (?:voce )?(?:quer|precisa|deseja|gostaria|queres)|qual (?:e )?(?:o|seu|"
    r"a) (?:problema|duvida))\b"
)
MORE = (
    r"\b(?:mas|porem|nao|n|ainda|continua)\b|\bpor favor\b|\bpf\b|\b(?:precis\w+|quer\w*|"
    r"gostaria|falta)\b"
    r"|\bagora (?!ta\b|esta|foi|deu|vai|funciona|sim|tudo)\w+"
)
BARE = (
    r"^(?:e |ou |entao |certo |ok )*(?:(?:a|de|em|para|por|com) )?(?:qual|quais|quando|onde|"
    r"quem|quant[oa]s?|como|que|o que)\b",
    r"^(?:\w+ ){0,3}(?:pra|para|de|com|em|por|ate) (?:que|qual|quais|quem|quant[oa]s?|onde)\b",
)
OR = r"\bou\b"
DOING = (
    r"\b(?:ate agora|por enquanto|ate o momento)\b",
    r"^(?:(?:certo|ok|claro|agora|entao|primeiro|beleza|bom|entendido)[,.!]? )*(?!quando|"
    r"segundo|comando|mando|lindo|vindo|bem-vindo|sendo|tendo|havendo|considerando|dependendo|"
    r"usando|lembrando|resumindo|falando|respondendo|concluindo|precisando|"
    r"querendo)\w{3,}(?:ando|endo|indo)\b(?!.*\b(?:e|foi|esta|sao|pode|sera|funciona|fica|"
    r"da)\b)",
    r"(?:^|[,;:] )(?:(?:agora|primeiro|depois|entao|certo|ok|claro|ja|e|eu) )*(?:passo|sigo|"
    r"refaco|faco|corrijo|ajusto|altero|atualizo|crio|adiciono|removo|envio|mando|preparo|"
    r"gero|escrevo|rodo|executo|testo|verifico|confiro|consulto|procuro|busco|analiso|reviso|"
    r"reservo|marco|agendo|cancelo|abro|trato|resolvo|implemento|instalo|configuro|retomo|"
    r"continuo|prossigo|comeco|inicio|encaminho|transfiro|calculo|organizo|monto|"
    r"traduzo)\b(?! que\b)",
)
SOON = r"^(?:quando|assim que|depois que|uma vez)\b"
WH = r"^(?:\w+,? ){0,2}(?:qual|quais|quando|onde|quem|quant[oa]s?|como|que|por que|porque)\b"
KNOW = (
    r"\b(?:verifi\w*|olh\w*|busc\w*|procur\w*|explic\w*|analis\w*|compar\w*|mostr\w*|resum\w*|"
    r"list\w*|calcul\w*|descubr\w*|revis\w*|se|por que|porque|qual\w*|como|quant\w*|quando|quem|"
    r"onde)\b"
    r"|\b(?:opcoes|corrij\w*|corrig\w*|traduz\w*|escrev\w*|redij\w*|aprend\w*|entend\w*)\b"
)
PRAISE = (
    r"otimo|perfeito|excelente|show|maravilha|massa|top|legal|muito bom|boa|funcionou|deu "
    r"certo|saiu|agora foi|foi|fantastico|fixe|finalmente"
    r"|(?:e|era) (?:exatamente|justamente) (?:isso|o que)|exatamente (?:isso|o que)|agora "
    r"(?:ta|esta) (?:funcionando|certo|otimo|bom|perfeito)"
)
AND = r"[,;]? e (?:também |depois )*"
