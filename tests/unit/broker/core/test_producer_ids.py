from millstream_broker.core.producer_ids import ProducerIdBlock, ProducerIds


def test_ids_are_given_once_and_in_order_over_block_borders() -> None:
    ids = ProducerIds(refill_below=2)
    assert ids.take() is None
    assert ids.wants_block()
    ids.add(ProducerIdBlock(1000, 1003))
    assert [ids.take(), ids.take()] == [1000, 1001]
    assert ids.wants_block(), "one id is left: the next block is asked for ahead"
    ids.add(ProducerIdBlock(4000, 4002))
    assert not ids.wants_block()
    assert [ids.take(), ids.take(), ids.take()] == [1002, 4000, 4001]
    assert ids.take() is None
