"""The four pillars: todos, context, open loops, intentions. Pure data and functions.

`model` and `facts` are the vocabulary, `fold` makes events of facts and states of events,
`pending` adds what the newest checkpoint's tasks said, `namespaces` joins subgraphs to the thread,
`codec` writes and reads JSON, `status` and `brief` say it in words.
"""
