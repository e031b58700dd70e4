"""A principal as an Envelope carries it: Kafka's DefaultPrincipalData, what its own brokers write there."""

from millstream_wire.schema import Stored, boolean, stored, string


@stored(versions=(0, 0), flexible=0)
class DefaultPrincipalData(Stored):
    type: string = ""
    name: string = ""
    token_authenticated: boolean = False
