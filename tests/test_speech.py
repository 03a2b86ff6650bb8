"""How single turns are read, in nine languages: an agent's, and a person's."""

from __future__ import annotations

import pytest

from langgraph_wyrd.extraction.asking import said
from langgraph_wyrd.extraction.speech import turn
from tests.spoken import FOLDER

AGENT = [
    ("Alle Tests laufen. Möchtest du, dass ich noch einen Eintrag schreibe?", "offers"),
    ("Für die Buchung brauche ich noch Ihr Geburtsdatum.", "asks"),
    ("Das kann ich leider nicht tun.", "refuses"),
    ("Ich kümmere mich sofort darum.", "begins"),
    ("Verstanden, ich übersetze das Dokument jetzt.", "begins"),
    ("Welche der beiden Varianten soll ich umsetzen?", "asks"),
    ("Teile mir bitte noch die gewünschte Menge mit.", "asks"),
    ("Pouvez-vous préciser la date de départ ?", "asks"),
    ("Je reviens vers vous dès que possible.", "begins"),
    ("J'ai corrigé le bug et poussé le correctif.", "answers"),
    ("Souhaitez-vous autre chose ?", "courtesy"),
    ("Indiquez-moi votre numéro de client.", "asks"),
    ("Je m'occupe de la réservation immédiatement.", "begins"),
    ("Laquelle des deux options préférez-vous ?", "asks"),
    ("Enseguida lo compruebo.", "begins"),
    ("¿Me puede facilitar su DNI?", "asks"),
    ("Ya he actualizado el archivo.", "answers"),
    ("Por favor, envíeme una foto del recibo.", "asks"),
    ("Le transfiero con un compañero.", "begins"),
    ("¿Desea algo más?", "courtesy"),
    ("No tengo acceso a esa información.", "refuses"),
    ("Já estou verificando, só um instante.", "begins"),
    ("Qual é o seu CPF?", "asks"),
    ("Pode me enviar o comprovante?", "asks"),
    ("Atualizei o arquivo conforme pedido.", "answers"),
    ("Deseja mais alguma coisa?", "courtesy"),
    ("Vou transferir você para um atendente.", "begins"),
    ("Un attimo che verifico.", "begins"),
    ("Mi indichi il codice fiscale.", "asks"),
    ("Ho aggiornato il file come richiesto.", "answers"),
    ("Desidera altro?", "courtesy"),
    ("Le passo un operatore.", "begins"),
    ("Quale delle due preferisce?", "asks"),
    ("Momentje, ik kijk het na.", "begins"),
    ("Wat is uw postcode?", "asks"),
    ("Ik heb het bestand bijgewerkt.", "answers"),
    ("Kan ik verder nog iets voor u doen?", "courtesy"),
    ("Kunt u een foto van het bonnetje sturen?", "asks"),
    ("Ik kom er zo snel mogelijk op terug.", "begins"),
    ("我这就去处理。", "begins"),
    ("请问您的手机号是多少？", "asks"),
    ("文件已经更新好了。", "answers"),
    ("还需要别的帮助吗？", "courtesy"),
    ("请上传一张收据的照片。", "asks"),
    ("这个我没有办法帮您处理。", "refuses"),
    ("我会尽快给您答复。", "begins"),
    ("ただいま確認しております。", "begins"),
    ("お電話番号を教えてください。", "asks"),
    ("ファイルを更新しました。", "answers"),
    ("他にご用件はございますか。", "courtesy"),
    ("レシートの写真を送っていただけますか。", "asks"),
    ("それはできかねます。", "refuses"),
    ("折り返しご連絡いたします。", "begins"),
    ("Let me pull up your account.", "begins"),
    ("Mind sharing the error message?", "asks"),
    ("I've pushed the fix to main.", "answers"),
    ("What else can I do for you?", "courtesy"),
    ("Kindly share your order number.", "asks"),
    ("I don't have permission to do that.", "refuses"),
    ("Give me a sec.", "begins"),
    ("Running the test suite now...", "begins"),
    ("Which one do you prefer: A or B?", "asks"),
    ("To continue I need the API key.", "asks"),
    ("Hope that helps!", "courtesy"),
    ("Gib bitte deine Kundennummer ein.", "asks"),
    ("Dafür bräuchte ich noch Ihre Kontaktdaten.", "asks"),
    ("S'il vous plaît, entrez votre nom complet.", "asks"),
    ("Per favore inserisci il tuo numero cliente.", "asks"),
    ("Indica il tuo nome completo.", "asks"),
    ("La prego di fornire il codice fiscale.", "asks"),
    ("Por favor digite o seu nome completo.", "asks"),
    ("Escolha uma das opções abaixo.", "asks"),
    ("Por favor ingresa tu dirección completa.", "asks"),
    ("Escribe tu nombre completo.", "asks"),
    ("Gelieve uw naam in te vullen.", "asks"),
    ("需要您提供身份证号。", "asks"),
    ("Please re-enter the code.", "asks"),
    ("Escribe tu contraseña y pulsa Entrar.", "answers"),
    ("Right, and your PIN as well please.", "asks"),
    ("One moment please.", "begins"),
    ("The shelves are up. The lamp is still in its box, that's the next step.", "begins"),
    ("Two letters found. I keep searching, the parish archive comes last.", "begins"),
    ("I have asked the printer and will call you as soon as he answers.", "begins"),
    ("I keep getting the same error, the key is expired.", "answers"),
    ("I keep everything in one folder.", "answers"),
    ("De fout zie ik nu, er staat een komma te veel.", "answers"),
    ("Zwei Briefe gefunden. Ich suche weiter.", "begins"),
    ("De planken hangen. De lamp monteer ik straks.", "begins"),
    ("Dos cartas encontradas. Sigo buscando en el archivo.", "begins"),
    ("Deux lettres trouvées. Je continue à chercher.", "begins"),
    ("Duas cartas encontradas. Continuo procurando no arquivo.", "begins"),
    ("找到两封信。我继续查档案。", "begins"),
    ("手紙が二通見つかりました。引き続き資料を探します。", "begins"),
    (
        "Before I paint it: is the fence dry? I can't tell from here. The paint takes two days, "
        "and by the forecast the weather holds until the weekend.",
        "asks",
    ),
    (
        "Beim Zaun bin ich unsicher: Soll er grün oder braun werden? Beide Farben sind da. Die "
        "Farbe trocknet in zwei Tagen, das Wetter hält laut Vorhersage.",
        "asks",
    ),
    ("照片排好了。要用哪种纸?A4 纸快用完了。", "asks"),
    ("The card would say:\n\nHello Ann.\n\nReady to mail whenever you say so.", "asks"),
    ("- Paint the fence (Ann)\n- Buy nails (Bob)\n- Nobody said yet: who has a ladder?", "answers"),
]
PERSON = [
    ("passt so, danke", "small"),
    ("kannst du stattdessen Python nehmen", "redirect"),
    ("ne lass mal", "stop"),
    ("ja gerne", "yes"),
    ("mach weiter", "proceed"),
    ("warum ist das so langsam", "content"),
    ("c'est parfait merci", "small"),
    ("non laisse tomber", "stop"),
    ("oui s'il te plaît", "yes"),
    ("plutôt en anglais", "redirect"),
    ("continue", "proceed"),
    ("perfecto gracias", "small"),
    ("no, déjalo", "stop"),
    ("sí por favor", "yes"),
    ("mejor en inglés", "redirect"),
    ("sigue adelante", "proceed"),
    ("perfeito, obrigado", "small"),
    ("não, deixa", "stop"),
    ("sim por favor", "yes"),
    ("melhor em inglês", "redirect"),
    ("pode continuar", "proceed"),
    ("perfetto grazie", "small"),
    ("no, lascia perdere", "stop"),
    ("sì grazie", "yes"),
    ("meglio in inglese", "redirect"),
    ("vai avanti", "proceed"),
    ("perfect, bedankt", "small"),
    ("nee, laat maar", "stop"),
    ("ja graag", "yes"),
    ("liever in het Engels", "redirect"),
    ("ga door", "proceed"),
    ("好的谢谢", "small"),
    ("算了", "stop"),
    ("好的，麻烦了", "yes"),
    ("改成英文", "redirect"),
    ("继续吧", "proceed"),
    ("ありがとう、助かりました", "small"),
    ("やっぱりいいです", "stop"),
    ("はい、お願いします", "yes"),
    ("英語に変えてください", "redirect"),
    ("続けてください", "proceed"),
    ("perfect thanks a lot", "small"),
    ("forget it", "stop"),
    ("yes please", "yes"),
    ("actually make it English", "redirect"),
    ("keep going", "proceed"),
    ("thx!", "small"),
    ("cool", "small"),
    ("you're a lifesaver", "small"),
    ("got it, thank you so much for your help today", "small"),
    ("thanksss", "small"),
    ("perfettoooo grazie", "small"),
    ("no thanks, I'll print it at the library myself", "farewell"),
    ("nein danke, das drucke ich selbst in der Bücherei", "farewell"),
    ("no gracias, la imprimo yo en la biblioteca", "farewell"),
    ("oh, vergeten. laat maar, ik print het morgen zelf in de bibliotheek bij ons", "stop"),
    ("laisse tomber, je l'imprime moi-même à la bibliothèque", "stop"),
    ("先别打印了,明天我自己去", "stop"),
    ("ok leave it for now, i'll ask my brother", "stop"),
    ("ich möchte einen Zaun streichen", "wish"),
    ("je voudrais un devis", "wish"),
    ("quiero un turno", "wish"),
    ("preciso de um orçamento", "wish"),
    ("vorrei un preventivo", "wish"),
    ("ik wil graag een offerte", "wish"),
]


@pytest.mark.parametrize(("text", "how"), AGENT)
def test_an_agents_turn(text: str, how: str) -> None:
    """It asks, offers, promises, refuses, answers, or is only polite."""
    found = turn(text)
    if how in ("asks", "offers"):
        assert found.form in (how, "proposes")
    elif how == "courtesy":
        assert found.form not in ("asks", "proposes", "offers")
    else:
        assert (found.form in ("tells", "courtesy"), found.progress) == (True, how)


@pytest.mark.parametrize(("text", "how"), PERSON)
def test_a_persons_turn(text: str, how: str) -> None:
    """It is small talk, a yes, a stop, a go-on, another wish, or says something of its own."""
    found = said(text)
    if how == "small":
        assert not found.content
    elif how == "stop":
        assert found.stop
    elif how == "yes":
        assert not found.content
        assert found.agrees or found.proceed
    elif how == "redirect":
        assert found.redirect
        assert not found.stop
    else:
        assert getattr(found, how)


TURNS = (FOLDER / "turns.tsv").read_text(encoding="utf-8").splitlines()


def test_turns_of_many_kinds() -> None:
    """What an agent's turn leaves, and what a person's is: of each kind some in each language."""
    wrong = []
    for line in TURNS:
        _, who, how, text = line.split(" ", 3)
        text = text.replace("\\n", "\n")
        if who == "A":
            found = turn(text)
            got = {"courtesy": "answers", "does": "begins"}.get(found.progress, found.progress)
            if found.form in ("asks", "proposes"):
                got = "asks"
            right = got == ("answers" if how == "courtesy" else how)
        else:
            heard = said(text)
            right = {
                "small": (not heard.content or heard.praise) and not heard.stop,
                "stop": heard.stop or (heard.farewell and not heard.content),
                "proceed": (heard.proceed or heard.agrees) and not heard.content,
                "redirect": heard.redirect and heard.content,
                "content": heard.content and not heard.stop and not heard.praise,
            }[how]
        if not right:
            wrong.append(line)
    assert not wrong, "\n".join(wrong)
