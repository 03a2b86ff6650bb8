"""Languages without tables of their own: how they say please and thanks.

Without accents and marks, as `plain_latin` leaves them of a text.
"""

PLEASE = (  # an agent's sentence with it, at the end of what it says, asks for something
    r"prosze|prosim(?:e|te)?|molim(?:o)?|var god|vanligen|vennligst|venligst|lutfen|va rugam|tolong"
    r"|mohon|silakan|vui long|kerem|kerjuk|olkaa hyva|пожалуиста"
    r"|будь ласка|παρακαλω|בבקשה|يرجى|لطفا|कृपया|กรณา"
    r"|주세요|부탁"
)
THANKS = (
    r"tack|takk?|tusen takk|kiitos|kiitti|dzieki|dziekuje|dekuji|diky|dakujem|koszonom|multumesc|"
    r"mersi|hvala|blagodarya|terima kasih|makasih|cam on|tesekkur(?:ler)?|sagol|salamat|"
    r"спасибо|благодарю|дякую|благодаря|хвала|ευχαριστω|תודה|شكرا|متشكرم|مرسی|धनयवाद|शुकरिया|"
    r"ขอบคณ|고마워요?|고맙습니다|감사합니다|감사해요"
)
