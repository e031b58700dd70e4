"""Ids, metadata records and the Image they fold into; no I/O."""
