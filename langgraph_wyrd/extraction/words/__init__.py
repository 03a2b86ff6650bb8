"""Words of a language, as data: one module a language, each a few short tables.

Structure decides first (who spoke last, calls, results); a table decides only what structure
leaves open. Every entry is a regular expression in small letters, without accents where the
script has any (`plain_latin` removes them from the text as well), so that "nao" and "não" are one.
A table holds words of any conversation, never those of one domain.

| table | whose | says |
|---|---|---|
| `COMMON` | both | function words, to recognise the language by |
| `YOU` | agent | the person is addressed: a question far from the end is not rhetorical |
| `COURTESY` | agent | offers more of everything, or politeness: nothing waits for an answer |
| `OFFERS` | agent | offers one more thing: waits only where the work itself is not done |
| `APPROVAL` | agent | asks leave to go on: always waits |
| `CONDITIONS` | agent | begins a condition: what follows is no promise yet |
| `SOON` | agent | a condition that comes true by itself ("as soon as they reply") |
| `DEMANDS` | agent | asks without a question mark |
| `NEEDS` | agent | asks for it in so many words, whatever else the sentence says |
| `OPEN` | agent | asks what is wanted at all: the answer is the request |
| `BARE` | agent | asks by its words alone, where no mark is written |
| `OR` | agent | joins two choices: an offer with it is a question |
| `BEGINS` | agent | promises, begins, hands on: the request stays open |
| `DOING` | agent | says in the last sentence what it does now |
| `REFUSES` | agent | says that it can't be done |
| `DONE` | agent | reports that something is done |
| `ALSO` | both | one thing more |
| `NODS` | person | small words that ask nothing: greeting, yes, thanks |
| `YES` | person | agreement |
| `THANKS` | person | thanks |
| `FAREWELL` | person | they need nothing more |
| `PROCEED` | person | go on: asks for work, but sets no new aim |
| `STOP` | person | calls off what was asked for |
| `REDIRECT` | person | something else takes its place |
| `VERBS` | person | what people ask to have done; part of `WISHES` |
| `WISHES` | person | begins a request, also inside an answer |
| `PRAISE` | person | begins praise of what was done |
| `MORE` | person | objects, or wants more: not only thanks or praise |
| `AND` | person | joins two orders (in small letters, accents kept) |
| `WH` | person | asks for knowledge |
| `KNOW` | person | wants something found out, or worded |
"""
