"""Spanish: questions open with an inverted mark, which is taken as a mark as well."""

COMMON = (
    "el la los las un una unos de del que y en es por para con mi mis tu tus su sus me te se "
    "lo le no si pero como cual donde cuando gracias hola favor quiero puedes puede necesito "
    "esta este estoy tengo he ha hay ya muy mas bien o al son ser hacer usted ustedes buenos "
    "buenas dias tambien ahora porque todo esto eso voy algo sobre nos"
)
YOU = (
    r"\b(?:usted(?:es)?|tu|te|ti|tus?|su|sus|vos|yo|me|mi|nos|puedes|puede|podria|quieres|"
    r"quiere|prefieres|prefiere|tienes|tiene|deseas?)\b"
)
COURTESY = (
    r"\b(?:te|le) (?:gusta|gustan)(?: asi)?\W*$",
    r"\b(?:algo|alguna (?:otra )?(?:cosa|pregunta|duda|consulta)|en que|en algo) (?:mas|"
    r"otra?)\b",
    r"\balg(?:o|una) (?:mas|otra cosa|otra (?:pregunta|duda|consulta)|pregunta|duda)\b",
    r"\bno (?:dudes|dude|duden) en\b",
    r"\b(?:estoy|quedo|estamos|quedamos|seguimos) (?:a tu|a su|aqui|a la orden|"
    r"a disposicion|atent|para)",
    r"\b(?:en que|como) (?:mas )?(?:te |le |les |lo |la )?(?:puedo|podria|"
    r"podemos) (?:ayudar|asistir|servir|apoyar)",
    r"\b(?:de nada|con gusto|un placer|encantado)\b",
    r"^si (?:tienes|tiene|necesitas|necesita|surge|hay|te surge|le surge) (?:alguna?|"
    r"otr[ao]s?|mas|algo|dudas?|preguntas?|ayuda|cualquier)",
    r"\b(?:te|le) (?:sirve|ayuda|queda claro)\W*$",
    r"^(?:esta|queda) claro\W*$",
)
OFFERS = (
    r"^(?:y |o )?(?:quieres?|deseas?|te gustaria|le gustaria|prefieres?|quisieras?|"
    r"quisiera)(?: tambien)? que (?:yo |te |le |lo |la |nos )?\w+",
    r"^(?:y |o )?(?:quieres?|deseas?|te gustaria|le gustaria) (?:tambien|ver|un ejemplo|mas|"
    r"saber|recibir|profundizar)\b",
    r"^si (?:quieres|quiere|lo deseas|lo desea|deseas|desea|prefieres|prefiere|gustas|gusta|"
    r"te interesa|le interesa|te parece|le parece|lo prefieres)\b",
    r"\b(?:avisame|aviseme|dime|digame|hazme saber|hagame saber|indicame) si (?:quieres|"
    r"quiere|deseas|desea|prefieres|prefiere|necesitas|necesita|te gustaria|le gustaria|"
    r"debo|lo)",
    r"^(?:tambien )?(?:puedo|podria|podemos) (?:tambien|ademas|ayudarte a|ayudarle a)\b",
    r"^tambien (?:puedo|podria)\b",
    r"^(?:te|le) (?:preparo|muestro|ayudo|hago) (?:tambien|ademas|un)\b",
)
APPROVAL = (
    r"\b(?:procedo|continuo|puedo (?:proceder|continuar|seguir|eliminar|desplegar|aplicar|"
    r"ejecutar|reservar|enviar|cancelar)|debo (?:proceder|continuar|seguir)|"
    r"quieres? que (?:proceda|continue|siga|lo (?:ejecute|aplique|envie|despliegue|reserve|"
    r"cancele|elimine))|desea que proceda|desea continuar|deseas continuar|sigo adelante|"
    r"lo (?:envio|reservo|cancelo|publico|aplico))\b",
    r"\b(?:me )?(?:confirmas?|apruebas?|autorizas?|confirme|confirmame|confirmeme)\b",
    r"\b(?:te|le) parece (?:bien|correcto)",
    r"\b(?:de acuerdo|es correcto|esta bien|correcto)\W*$",
    r"\b(?:tu|su) (?:aprobacion|confirmacion|autorizacion|visto bueno)\b.{0,30}$",
)
DEMANDS = (
    r"\bpor favor,? (?:especifica|especifique|elige|elija|selecciona|seleccione|describe|"
    r"describa|escribe|escriba|sube|suba|adjunta|adjunte|ingresa|ingrese|confirma|confirme|"
    r"indica|indique|envia|envie|pega|pegue|comparte|comparta|introduce|introduzca|responde|"
    r"responda)\b",
    r"^(?:especifica|especifique|confirma|confirme|indica|indique|comparte|comparta|"
    r"describe|describa|pega aqui|pegue aqui|adjunta|adjunte|elige una|elija una)\b",
    r"\b(?:indicame|indiqueme|dime|digame|proporcioname|proporcioneme|proporcione|enviame|"
    r"envieme|comparte|comparta|compartame|facilitame|faciliteme|facilite|pasame|paseme|"
    r"pegame|confirmame|aclarame|aclareme|dame|deme|cuentame|cuenteme|escribeme|"
    r"especificame)\b(?! si (?:quieres|necesitas|deseas))",
    r"\b(?:puedes|puede|podrias|podria|podes) (?:por favor )?(?:indicar|decir|proporcionar|"
    r"enviar|compartir|facilitar|pasar|confirmar|especificar|dar|aclarar|describir|"
    r"verificar|precisar)",
    r"^(?:para .*?, |antes .*?, |primero,? |tambien |solo |aun |"
    r"todavia )*(?:me )?(?:necesito|necesitaria|necesitamos|requiero|me hace falta|"
    r"nos hace falta|me falta|me faltan|haria falta)\b(?! (?:un (?:momento|minuto|segundo)|"
    r"revisar|verificar|buscar|comprobar|consultar|mas tiempo))",
    r"\b(?:hazme|hagame|dejame|dejeme) saber (?:que|cual|cuando|donde|como|cuanto|quien)",
    r"^(?:a |de |en |para |por |con |desde |hasta )?(?:que|cuale?s?|cuando|donde|quien|"
    r"cuant[oa]s?|como|cuanto) .*\b(?:usted|tu|te|tus?|su|sus|le|quieres?|deseas?|"
    r"prefieres?|necesitas?|tienes?|gustaria|quisieras?|puedes?|me|es|fecha|hora)\b",
    r"^(?:quieres?|deseas?|tienes?|puedes?|podrias?|prefieres?|te gustaria|le gustaria|eres|"
    r"esta usted|desean|quisiera)\b",
    r"\b(?:quedo|estoy) a la espera de (?:tu|su)\b|\bespero (?:tu|su) (?:respuesta|"
    r"confirmacion)",
)
BEGINS = (
    r"\b(?:un (?:momento|minuto|segundo|instante|momentito)|dame un|deme un|permiteme|"
    r"permitame|dejame|dejeme|enseguida)\b(?! saber)|^(?:espera|espere|aguarda|aguarde)\b",
    r"\b(?:voy|vamos) a \w+|\bprocedo a\b|\bprocedere\b|\bahora (?:mismo )?(?:lo |"
    r"la )?(?:reviso|verifico|busco|consulto|compruebo|ejecuto|hago|miro)\b",
    r"\b(?:lo |la |los |las |te |le )?(?:reviso|verifico|busco|consulto|compruebo|analizo|"
    r"investigo|empiezo|comienzo|me (?:pongo|encargo|ocupo)|transfiero|derivo|paso|preparo|"
    r"ejecuto|miro|continuo con|inicio|reviento)\b",
    r"\b(?:revisare|verificare|buscare|consultare|comprobare|analizare|investigare|empezare|"
    r"comenzare|me encargare|te avisare|le avisare|te aviso|le aviso|transferire|preparare|"
    r"ejecutare|hare|creare|enviare|informare|implementare|corregire|volvere|contactare|"
    r"calculare|agregare|anadire|usare|intentare|leere|actualizare|te confirmo|le confirmo|"
    r"te informo|le informo|continuare)\b",
    r"\b(?:estoy|estamos) \w+(?:ando|iendo|yendo)\b|\bestoy (?:revisando|verificando|"
    r"buscando|consultando|comprobando|analizando|trabajando|procesando|ejecutando|en ello|"
    r"preparando|investigando)\b",
    r"^\w+(?:ando|iendo|yendo)\b(?!,)",
    r"^(?:revisando|verificando|buscando|consultando|procesando|trabajando)\b",
)
REFUSES = (
    r"\b(?:lamentablemente|desafortunadamente|por desgracia|desgraciadamente)\b",
    r"\bno (?:puedo|podemos|es posible|esta disponible|se puede|tengo (?:acceso|permiso)|"
    r"estoy autorizad|puede)\b|\bimposible\b",
)
DONE = (
    r"\b(?:listo|hecho|terminado|completado|finalizado|aqui (?:tienes|tiene|esta|estan)|"
    r"con exito|correctamente)\b",
    r"\b(?:he|hemos|ha sido|han sido|fue|fueron|ya esta|ya estan|quedo) (?:\w+ )?\w+(?:ado|"
    r"ido|ada|ida|ados|idos|adas|idas|cho|cha|sto|to)\b",
    r"\b(?:agregue|cree|corregi|actualice|elimine|envie|anadi|cancele|reserve|implemente|"
    r"modifique)\b",
    r"✅|✔",
)
ALSO = r"\b(?:tambien|ademas|adicional(?:es|mente)?|asimismo|otr[ao]s?|luego|despues)\b"
NODS = (
    r"uf|menos mal|me (?:ayudaste|ayudo|has ayudado) mucho|muy amable|hola|buenas|"
    r"buenos dias|buenas (?:tardes|noches)|buen dia|ok|okay|vale|si|claro|perfecto|genial|"
    r"excelente|estupendo|bien|muy|muy bien|de acuerdo|entendido|entiendo|listo|"
    r"por supuesto|exacto|exactamente|correcto|por favor|no hay problema|sin problema|ah|oh|"
    r"eh|hm+|pues|y|pero|entonces|bueno|buenisimo|(?:ya |ahora )?(?:funciona|funciono|"
    r"sirvio)(?: bien| ya| perfecto)?|que bien|barbaro|dale|fenomenal|interesante|"
    r"fantastico|super|me parece|suena|todo|esta|eso|lo|es|ya veo|ya|espero|avisame|aviseme|"
    r"quedo atent[oa]|(?:lo|la) (?:pruebo|reviso|miro)(?: luego| despues| ahora)?|"
    r"voy a (?:probarlo|revisarlo|mirarlo)|encantad[oa]|tranquil[oa]|no te preocupes|"
    r"no se preocupe"
)
YES = (
    r"si|claro|vale|ok|okay|de acuerdo|perfecto|por supuesto|dale|adelante|exacto|correcto|"
    r"hazlo|hagalo|esta bien|me parece bien|sip"
)
THANKS = (
    r"(?:muchas |muchisimas |mil )?gracias(?: de nuevo| de antemano| a ti| a usted|"
    r" igualmente)?(?: por [\w ]{1,40})?|(?:te|se|le|"
    r"os)? ?(?:lo )?agradezco(?: [\w ]{1,30})?"
)
FAREWELL = (
    r"(?:adios|hasta (?:luego|pronto|manana|la proxima)|chao|chau|que (?:tengas|tenga|pases|"
    r"pase)|buen (?:dia|fin)|feliz|nos vemos|saludos|cuidate|bye)\b[^;\u3001\uff0c]*",
    r"(?:no[,.! ]*)?(?:eso|esto|con eso|con esto) (?:es|seria|era|fue) (?:todo|"
    r"suficiente).{0,40}",
    r"(?:no[,.! ]*)?(?:es|seria) todo.{0,30}",
    r"(?:no|nada|nada mas|no nada mas|ninguna|por ahora (?:no|nada)|ahora no|de momento no|"
    r"no tengo mas (?:preguntas|dudas)|con eso basta|ya esta)",
    r"(?:yo )?(?:lo hare yo|lo hago yo|lo resuelvo yo|me encargo yo|lo pensare|volvere|"
    r"vuelvo luego|te escribo|lo intentare|ya lo busco|lo busco yo)\b[^;\u3001\uff0c]*",
)
PROCEED = (
    r"(?:si,? por favor|adelante|continua|continue|sigue|siga|procede|proceda|hazlo|hagalo|"
    r"dale|vamos|empieza|empiece|comienza|comience|siguiente|otra vez|de nuevo|"
    r"intentalo (?:de nuevo|otra vez)|intentelo (?:de nuevo|otra vez)|reintenta|repite|"
    r"repitelo|ejecutalo|ejecutalo (?:de nuevo|otra vez)|ejecutala|aplicalo|aplicalos|"
    r"apruebo|aprobado|confirmado|confirmo|lo confirmo|como (?:quieras|prefieras|quiera|"
    r"prefiera)|me da igual|da igual|tu decides|usted decide|cualquiera|implementalo|"
    r"avanza)\b"
)
STOP = (
    r"(?:para|pare|detente|detengase|alto|stop|cancela|cancelalo|cancelelo|cancele|aborta|"
    r"olvidalo|olvidelo|olvida|dejalo|dejelo|deja|basta)(?: eso| todo| ya| por favor| asi|"
    r" esto| la tarea| ahora| ahi)*",
    r"ya no (?:hace falta|es necesario|lo necesito|la necesito|quiero|"
    r"necesito)[^,;\u3001\uff0c]{0,40}",
    r"no (?:hace falta|es necesario|te preocupes|importa).{0,25}",
    r"(?:no,? )?no (?:lo |la |los |las )?(?:hagas|haga|borres|envies|elimines)",
    r"(?:mejor no|da igual|ya lo (?:resolvi|solucione|arregle)|"
    r"ya se resolvio)[^,;\u3001\uff0c]{0,40}",
)
REDIRECT = (
    r"^(?:no[,.;:!]? |espera[,.;:!]? |espere[,.;:!]? |ah[,.;:!]? |ok[,.;:!]? |oye[,.;:!]? |"
    r"bueno[,.;:!]? |pero |hmm?[,.;:!]? )*(?:en realidad|mejor|en vez|en lugar|olvida(?:lo|"
    r"te)?|olvidelo|deja(?:lo)?|dejelo|para|pare|detente|cambio de planes?|he cambiado de|"
    r"cambie de|pensandolo bien|de hecho|mas bien)\b",
    r"\ben (?:vez|lugar) de\b",
    r"\bmejor (?:haz|hazlo|hagamos|escribe|usa|busca|cambia|dame|quiero|hagalo|pon)",
    r"\bcambi(?:e|ado) de (?:opinion|idea|planes?)\b",
)
WISHES = (
    r"(?:puedes|puede|podrias|podria|podes|podemos|puedo|es posible|me (?:puedes|puede|"
    r"podrias|podria))\b",
    r"(?:quiero|quisiera|necesito|me gustaria|deseo|queremos|necesitamos|"
    r"prefiero)\b.*\b\w{2,}(?:ar|er|ir|arlo|erlo|irlo|arla|arme|erme)\b",
    r"(?:ayudame|ayudeme|muestrame|muestreme|explicame|expliqueme|dame|deme|enviame|envieme|"
    r"buscame|hazme|dime|digame|encuentra|encuentrame)\b",
    r"(?:agrega|anade|crea|corrige|elimina|borra|modifica|cambia|revisa|prueba|calcula|"
    r"compara|traduce|resume|analiza|genera|haz|reemplaza|prepara|busca|escribe|pon|ejecuta|"
    r"usa|instala|explica|lista|reserva|cancela|actualiza|renombra|ordena|grafica|verifica|"
    r"implementa|arregla|quita|mueve|convierte) (?:el|la|los|las|un|una|mi|mis|ese|este|"
    r"esta|esto|eso|todo|todos|tambien|otro|otra|al|en|que)\b",
    r"(?:y |tambien )?(?:como|por que|cuando|cuanto|cuantos|cual|cuales|donde|que|quien)\b.*",
)
POLITE = (
    r"(?:me |nos )?(?:puedes|puede|podrias|podria|podes)(?: ayudar(?:me|nos)?| hacerlo|"
    r" hacer eso)?(?: con (?:eso|esto))?(?: por favor)?",
    r"(?:es|seria) posible",
    r"que (?:te|le) parece|que opinas?",
    r"como (?:estas?|te va|le va)|que tal",
)
PROPOSES = (
    r"\bque (?:te|le|les) parece\b|\b(?:te|le) parece\b|\bque tal\b|\b(?:te|le) (?:gusta|"
    r"sirve|conviene|va bien|interesa)\b"
)
CONDITIONS = r"^(?:si|cuando|una vez|en cuanto|tan pronto|despues de que)\b"
OPEN = (
    r"\b(?:que (?:necesitas?|deseas?|quieres?|te gustaria|le gustaria)|en que (?:consiste|"
    r"puedo)|cual es (?:el|tu|su) problema)\b"
)
