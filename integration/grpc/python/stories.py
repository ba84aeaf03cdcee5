"""Stories of the Python gRPC client (rocketmq-python-client) against a proxy and the broker behind it: ENDPOINT PREFIX [story ...].

For each it prints one line RESULT, name, OK or FAIL, reason and facts, separated by tabs. Topics and groups are there before:
PREFIX_STORY_KIND and G_PREFIX_STORY. The environment's EXACT=true asks for what rocketd promises beyond Apache.
"""

import os
import sys
import threading
import time
import traceback
from collections import Counter, defaultdict

from rocketmq import (ClientConfiguration, ConsumeResult, Credentials, FilterExpression, Message, MessageListener, Producer,
                      PushConsumer, SimpleConsumer, TransactionChecker, TransactionResolution)
from rocketmq.grpc_protocol import FilterType
from rocketmq.v5.exception import InternalErrorException

EXACT = os.environ.get("EXACT") == "true"


class Facts:
    """What a client saw in one story, as named values free of times, ids and addresses, and the rules that it saw broken."""

    def __init__(self):
        self.seen, self.broken, self.lock = {}, [], threading.Lock()

    def see(self, name, value):
        with self.lock:
            self.seen[name] = " ".join(str(value).split())

    def must(self, holds, rule):
        if not holds:
            with self.lock:
                self.broken.append(" ".join(str(rule).split()))

    def result(self, name):
        with self.lock:
            facts = [f"{k}={self.seen[k]}" for k in sorted(self.seen)]
            return "\t".join(["RESULT", name, "FAIL" if self.broken else "OK", "; ".join(self.broken)] + facts)


class Listener(MessageListener):
    def __init__(self, consume):
        self.consume_one = consume

    def consume(self, message):
        return self.consume_one(message)


class Checker(TransactionChecker):
    def __init__(self, check):
        self.check_one = check

    def check(self, message):
        return self.check_one(message)


class Receiver:
    """A simple consumer whose first receive waits: the proxy may not have its settings yet, since the client does not wait for that."""

    def __init__(self, consumer):
        self.consumer, self.ack, self.change_invisible_duration = consumer, consumer.ack, consumer.change_invisible_duration

    def receive(self, most, invisible):
        deadline = time.time() + 30
        while True:
            try:
                return self.consumer.receive(most, invisible) or []
            except InternalErrorException as e:
                if "settings" not in str(e) or time.time() > deadline:
                    raise
                time.sleep(0.1)


class Session:
    """Names of a story's own and its clients."""

    def __init__(self, endpoint, prefix, name):
        self.configuration = ClientConfiguration(endpoint, Credentials(), request_timeout=15)
        self.prefix, self.name = prefix, name

    def topic(self, kind):
        return f"{self.prefix}_{self.name}_{kind}"

    def group(self):
        return f"G_{self.prefix}_{self.name}"

    def producer(self, topic, check=None):
        p = Producer(self.configuration, [topic], Checker(check) if check else None)
        p.startup()
        return p

    def simple(self, topic, expression=None):
        c = SimpleConsumer(self.configuration, self.group(), {topic: expression or FilterExpression()}, 5)
        c.startup()
        return Receiver(c)

    def push(self, topic, consume):
        c = PushConsumer(self.configuration, self.group(), Listener(consume), {topic: FilterExpression()})
        c.startup()
        return c


def message(topic, body, **fields):
    m = Message()
    m.topic, m.body = topic, body.encode()
    for name, value in fields.items():
        setattr(m, name, value)
    return m


def text(m):
    return m.body.decode()


def answer(call):
    """"ok" or the proxy's response code."""
    try:
        call()
        return "ok"
    except Exception as e:  # noqa: BLE001: what a client may raise is of many classes
        code = getattr(e, "code", None)
        return str(code) if isinstance(code, int) else "refused by the client"


def wait(seconds, condition):
    deadline = time.time() + seconds
    while not condition():
        if time.time() > deadline:
            return False
        time.sleep(0.02)
    return True


class Inbox:
    """Collects what arrives, in order, with the time of arrival."""

    def __init__(self):
        self.arrivals, self.lock = [], threading.Lock()

    def add(self, m):
        with self.lock:
            self.arrivals.append((m, time.time()))
        return ConsumeResult.SUCCESS

    def all(self):
        with self.lock:
            return list(self.arrivals)

    def bodies(self):
        return Counter(text(m) for m, _ in self.all())

    def expect(self, facts, n, seconds):
        """Waits for n different bodies and then a moment for doubles."""
        wait(seconds, lambda: len(self.bodies()) >= n)
        time.sleep(0.5)
        got = self.bodies()
        doubled = sum(1 for times in got.values() if times > 1)
        facts.see("different", len(got))
        facts.see("doubled", doubled)
        facts.must(len(got) == n and doubled == 0, f"want {n} messages once, got {len(got)}, {doubled} of them more than once")

    def drain(self, consumer, n, seconds):
        deadline = time.time() + seconds
        while len(self.bodies()) < n and time.time() < deadline:
            for m in consumer.receive(16, 30):
                self.add(m)
                consumer.ack(m)


def normal(s, f):
    topic = s.topic("NORMAL")
    p = s.producer(topic)

    def made(n):
        m = message(topic, f"body {n}", tag="TagA", keys=f"k{n}")
        m.keys = "x"
        m.add_property("colour", f"blue {n}")
        return m

    for n in range(30):
        p.send(made(n))
    for future in [p.send_async(made(n)) for n in range(30, 40)]:
        future.result(30)
    inbox = Inbox()
    inbox.drain(s.simple(topic), 40, 60)
    inbox.expect(f, 40, 0.1)
    m = inbox.all()[0][0]
    f.see("tag", m.tag)
    f.see("keys", len(m.keys))
    f.see("properties", sorted(m.properties))
    f.see("attempt", m.delivery_attempt)
    f.see("born host", bool(m.born_host))


def push(s, f):
    topic = s.topic("NORMAL")
    p = s.producer(topic)
    inbox, attempts, lock = Inbox(), [], threading.Lock()

    def consume(m):
        if text(m) == "body 7":
            with lock:
                attempts.append(m.delivery_attempt)
                if len(attempts) < 2:
                    return ConsumeResult.FAILURE
        return inbox.add(m)

    s.push(topic, consume)
    for n in range(40):
        p.send(message(topic, f"body {n}"))
    inbox.expect(f, 40, 60)
    f.see("attempts", attempts)


def dead(s, f):
    """The group's retries end after one; whoever runs the story looks at the dead letters."""
    topic = s.topic("NORMAL")
    p = s.producer(topic)
    attempts = []

    def consume(m):
        attempts.append(m.delivery_attempt)
        return ConsumeResult.FAILURE

    s.push(topic, consume)
    p.send(message(topic, "poison"))
    wait(60, lambda: len(attempts) >= 2)
    time.sleep(3)
    f.see("attempts", attempts)


def simple(s, f):
    """Acknowledges one message, leaves one to itself and changes the invisible time of a third."""
    topic = s.topic("NORMAL")
    p = s.producer(topic)
    for body in ["acked", "left", "changed"]:
        p.send(message(topic, body))
    c = s.simple(topic)
    attempts, first = defaultdict(list), {}
    deadline = time.time() + 60
    while time.time() < deadline and (len(attempts["left"]) < 2 or len(attempts["changed"]) < 2):
        for m in c.receive(16, 10):
            body = text(m)
            attempts[body].append(m.delivery_attempt)
            if body == "acked":
                f.see("ack", answer(lambda: c.ack(m)))
                f.see("ack twice", answer(lambda: c.ack(m)))
            elif body in first:
                f.see(body + " waited its time", time.time() - first[body] >= 9)
                f.see(body + " acked", answer(lambda: c.ack(m)))
            else:
                if body == "changed":
                    f.see("change", answer(lambda: c.change_invisible_duration(m, 15)))
                    f.see("change of a change", answer(lambda: c.change_invisible_duration(m, 12)))
                first[body] = time.time()
    f.see("attempts", sorted(attempts.items()))
    f.must([len(attempts[b]) for b in ["acked", "left", "changed"]] == [1, 2, 2], f"attempts {dict(attempts)}")
    f.see("rest", len(c.receive(16, 10)))


def filter_sql(s, f):
    topic = s.topic("NORMAL")
    p = s.producer(topic)
    for tag in ["TagA", "TagB", "TagC"]:
        for n in range(10):
            m = message(topic, f"{tag} {n}", tag=tag)
            m.add_property("n", str(n))
            p.send(m)
    inbox = Inbox()
    inbox.drain(s.simple(topic, FilterExpression("n > 5 AND n IS NOT NULL", FilterType.SQL)), 12, 30)
    inbox.expect(f, 12, 0.1)


def fifo(s, f):
    topic = s.topic("FIFO")
    p = s.producer(topic)
    seen, offered, lock = defaultdict(list), [], threading.Lock()

    def consume(m):
        with lock:
            if text(m) == "g1:3":
                offered.append(1)
                if len(offered) < 3:
                    return ConsumeResult.FAILURE
            group, n = text(m).split(":")
            seen[group].append(int(n))
            return ConsumeResult.SUCCESS

    s.push(topic, consume)
    for n in range(20):
        for group in ["g0", "g1", "g2", "g3"]:
            p.send(message(topic, f"{group}:{n}", message_group=group))
    wait(60, lambda: sum(len(numbers) for numbers in list(seen.values())) >= 80)
    time.sleep(0.5)
    with lock:
        f.see("groups", len(seen))
        f.see("offered", len(offered))
        for group, numbers in seen.items():
            f.see(group, len(numbers))
            f.must(numbers == list(range(20)), f"{group} in order: {numbers}")


def delay(s, f):
    topic = s.topic("DELAY")
    p = s.producer(topic)
    inbox, due = Inbox(), {}
    s.push(topic, inbox.add)
    for n in range(10):
        at = int(time.time()) + 4 + n // 2  # the client knows seconds
        due[f"body {n}"] = at
        f.see("handle", bool(p.send(message(topic, f"body {n}", delivery_timestamp=at)).recall_handle))
    inbox.expect(f, 10, 60)
    for m, at in inbox.all():
        early = due[text(m)] - at
        f.must(early <= (0 if EXACT else 1), f"{text(m)} early by {early} s")
        f.must(early > -10, f"{text(m)} late by {-early} s")
        f.see("delivery time", m.delivery_timestamp is not None)
    f.see("too far", answer(lambda: p.send(message(topic, "far", delivery_timestamp=int(time.time()) + 864000))))


def recall(s, f):
    topic = s.topic("DELAY")
    p = s.producer(topic)
    inbox = Inbox()
    s.push(topic, inbox.add)
    at = int(time.time()) + 12
    gone = p.send(message(topic, "recalled", delivery_timestamp=at))
    p.send(message(topic, "stays", delivery_timestamp=at))
    f.see("recall", answer(lambda: p.recall_message(topic, gone.recall_handle)))
    f.see("recall with garbage", answer(lambda: p.recall_message(topic, "garbage")))
    inbox.expect(f, 1, 30)
    f.must("stays" in inbox.bodies(), f"got {inbox.bodies()}")
    f.see("recall late", answer(lambda: p.recall_message(topic, gone.recall_handle)))


def transaction(s, f):
    topic = s.topic("TRANSACTION")
    asked = set()

    def check(m):
        asked.add(text(m))
        return TransactionResolution.COMMIT if text(m).endswith("later") else TransactionResolution.ROLLBACK

    p = s.producer(topic, check)
    inbox = Inbox()
    s.push(topic, inbox.add)
    for n in range(5):
        for what in ["commit", "rollback", "later", "never"]:
            t = p.begin_transaction()
            p.send(message(topic, f"{n} {what}"), t)
            if what == "commit":
                t.commit()
            elif what == "rollback":
                t.rollback()

    def undecided():
        return sum(1 for body in list(asked) if body.endswith(("never", "later")))

    wait(90, lambda: len(inbox.bodies()) >= 10 and undecided() >= 10)
    f.see("asked", undecided())
    f.see("visible", len(inbox.bodies()))
    f.must(len(inbox.bodies()) == 10, f"visible: {dict(inbox.bodies())}")
    for body, times in inbox.bodies().items():
        f.must(body.endswith(("commit", "later")), f"visible: {body}")
        f.must(times == 1 or not EXACT, f"{body} visible {times} times")  # Apache can ask about what was decided while its check ran


STORIES = [dead, push, simple, fifo, transaction, delay, recall, normal, filter_sql]


def run(endpoint, prefix, story, out):
    f, begin = Facts(), time.time()
    try:
        story(Session(endpoint, prefix, story.__name__), f)
    except Exception as e:  # noqa: BLE001: any failure is the story's
        traceback.print_exc()
        f.must(False, repr(e))
    with out:
        print(f.result(story.__name__), flush=True)
        print(f"{story.__name__} {time.time() - begin:.1f} s", file=sys.stderr)


def main():
    endpoint, prefix, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    out = threading.Lock()
    threads = [threading.Thread(target=run, args=(endpoint, prefix, story, out)) for story in STORIES if not only or story.__name__ in only]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    sys.stdout.flush()
    os._exit(0)  # clients in a long poll would hold it up


if __name__ == "__main__":
    main()
