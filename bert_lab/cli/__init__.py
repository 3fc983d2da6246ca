"""The command `bert-lab`.

Nothing imports it but `bert_lab.__main__`.
"""
