"""Transactions: who may write under a transactional id, where, and how it ends everywhere or nowhere."""
