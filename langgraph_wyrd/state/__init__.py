"""The four pillars: todos, context, open loops, intentions. Pure data and functions.

`model` and `facts` are the vocabulary. `fold` makes events of facts, `draft` applies events to a
state, `pending` adds what the newest checkpoint's tasks said, `namespaces` joins subgraphs to the
thread, `editing` has the verbs of people. `codec` reads and writes JSON, `status`, `brief` and
`wording` say it in words, `diff` and `merge` compare states.
"""
