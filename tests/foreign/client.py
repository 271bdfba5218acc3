"""Locks, leases and watches through etcd3aio; prints `ok` when all is as etcd has it.

    client.py lock|lease|watch ENDPOINT…
"""

import asyncio
import sys

from etcd3aio import Etcd3Client, WatchFilter, prefix_range_end

PATIENCE = 20


async def lock(clients):
    """Contenders at all members: one holds at a time, in the order in which they came."""
    order, holding = [], 0
    prefix = b"__etcd3aio:lock/q/"

    async def queue():
        return (await clients[0].kv.get(prefix, range_end=prefix_range_end(prefix))).kvs

    async def contend(n):
        nonlocal holding
        async with clients[n % len(clients)].lock("q", ttl=30):
            holding += 1
            assert holding == 1, "two hold the lock"
            order.append(n)
            await asyncio.sleep(0.02)
            holding -= 1

    first = clients[0].lock("q", ttl=30)
    await first.acquire()
    running = []
    for n in range(6):
        running.append(asyncio.create_task(contend(n)))
        while len(await queue()) < n + 2:
            await asyncio.sleep(0.002)
    assert not order, "nobody holds it but the first"
    await first.release()
    await asyncio.gather(*running)
    assert order == list(range(6)), f"not in the order of coming: {order}"
    assert not await queue(), "keys are left"


async def lease(clients):
    """A lease that is kept alive stays, one that is not goes with its keys."""
    one, other = clients[0], clients[1]
    kept = await one.lease.grant(ttl=2)
    left = await other.lease.grant(ttl=2)
    assert kept.TTL == left.TTL == 2 and kept.ID != left.ID
    chosen = await one.lease.grant(ttl=60, lease_id=0x77)
    assert chosen.ID == 0x77
    await one.kv.put("kept", "v", lease=kept.ID)
    await one.kv.put("left", "v", lease=left.ID)
    async with one.lease.keep_alive_context(kept.ID, ttl=2) as keeping:
        gone = other.watch.watch("left", start_revision=1)
        async for told in gone:
            if any(event.type == 1 for event in told.events):
                break
        await gone.aclose()
        # Longer than it would live by itself.
        await asyncio.sleep(2.5)
        assert keeping.alive
    asked = await other.lease.time_to_live(kept.ID, keys=True)
    assert asked.grantedTTL == 2 and 0 <= asked.TTL <= 2 and list(asked.keys) == [b"kept"], asked
    assert (await other.lease.time_to_live(left.ID)).TTL == -1
    assert {status.ID for status in (await one.lease.leases()).leases} == {kept.ID, 0x77}
    await other.lease.revoke(kept.ID)
    assert not (await one.kv.get("kept")).kvs
    async for answer in one.lease.keep_alive(0x77):
        assert answer.TTL == 60
        break


async def watch(clients):
    """A watch tells everything once and in order, from the past on, wherever it was written."""
    before = await clients[0].kv.put("w/0", "old")
    stream = clients[1].watch.watch("w/", range_end=prefix_range_end("w/"), start_revision=before.header.revision,
                                    prev_kv=True)
    deletes = clients[2].watch.watch("w/", range_end=prefix_range_end("w/"), start_revision=before.header.revision,
                                     filters=[WatchFilter.NOPUT])
    for n in range(30):
        await clients[n % len(clients)].kv.put(f"w/{n % 3}", str(n))
    await clients[1].kv.delete("w/1")
    told, revision = [], before.header.revision - 1
    async for answer in stream:
        for event in answer.events:
            assert event.kv.mod_revision > revision, "in order, and once"
            revision = event.kv.mod_revision
            told.append((event.type, event.kv.key, event.kv.value, event.prev_kv.value))
        if told and told[-1][0] == 1:
            break
    assert told[0] == (0, b"w/0", b"old", b"") and told[1] == (0, b"w/0", b"0", b"old"), told[:2]
    assert len(told) == 32 and told[-1] == (1, b"w/1", b"", b"28"), told[-1]
    async for answer in deletes:
        if answer.events:
            assert [event.kv.key for event in answer.events] == [b"w/1"], answer
            break
    for opened in (stream, deletes):
        await opened.aclose()


async def main(part, endpoints):
    clients = [Etcd3Client([endpoint]) for endpoint in endpoints]
    for client in clients:
        await client.connect()
    try:
        await asyncio.wait_for({"lock": lock, "lease": lease, "watch": watch}[part](clients), PATIENCE)
    finally:
        for client in clients:
            await client.close()
    print("ok")


asyncio.run(main(sys.argv[1], sys.argv[2:]))
