// Stories of the Node.js gRPC client (rocketmq-client-nodejs) against a proxy and the broker behind it: ENDPOINT PREFIX [story ...].
// For each it prints one line RESULT, name, OK or FAIL, reason and facts, separated by tabs. Topics and groups are there before:
// PREFIX_STORY_KIND and G_PREFIX_STORY. The environment's EXACT=true asks for what rocketd promises beyond Apache.
'use strict';

const { setTimeout: sleep } = require('node:timers/promises');
const { Producer, SimpleConsumer, PushConsumer, FilterExpression, ConsumeResult } = require('rocketmq-client-nodejs');
const { FilterType, TransactionResolution } = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');

const exact = process.env.EXACT === 'true';
const quiet = { debug() {}, info() {}, warn() {}, error(...args) { console.error(...args); }, close() {} };

const oneLine = value => String(value).replace(/\s+/g, ' ');

/** What a client saw in one story, as named values free of times, ids and addresses, and the rules that it saw broken. */
class Facts {
  seen = new Map();
  broken = [];

  see(name, value) { this.seen.set(name, oneLine(value)); }

  must(holds, rule) { if (!holds) this.broken.push(oneLine(rule)); }

  result(name) {
    const facts = [ ...this.seen.keys() ].sort().map(k => `${k}=${this.seen.get(k)}`);
    return [ 'RESULT', name, this.broken.length > 0 ? 'FAIL' : 'OK', this.broken.join('; '), ...facts ].join('\t');
  }
}

/** Names of a story's own and its clients. */
class Session {
  constructor(endpoints, prefix, name) { Object.assign(this, { endpoints, prefix, name }); }

  topic(kind) { return `${this.prefix}_${this.name}_${kind}`; }

  options(more) {
    return { endpoints: this.endpoints, namespace: '', requestTimeout: 15000, logger: quiet, consumerGroup: `G_${this.prefix}_${this.name}`, ...more };
  }

  async started(client) {
    await client.startup();
    return client;
  }

  producer(topic, check) { return this.started(new Producer(this.options({ topics: [ topic ], checker: check && { check } }))); }

  simple(topic, filter = '*') { return this.started(new SimpleConsumer(this.options({ subscriptions: new Map([[ topic, filter ]]), awaitDuration: 5000 }))); }

  push(topic, consume) {
    return this.started(new PushConsumer(this.options({ subscriptions: new Map([[ topic, '*' ]]), messageListener: { consume } })));
  }
}

const message = (topic, body, more) => ({ topic, body: Buffer.from(body), ...more });
const text = m => m.body.toString();

/** "ok" or the proxy's response code. */
async function answer(call) {
  try {
    await call();
    return 'ok';
  } catch (e) {
    return e.code ?? /code: (\d+)/.exec(e.message)?.[1] ?? 'refused by the client';
  }
}

async function wait(ms, condition) {
  for (const end = Date.now() + ms; !condition(); await sleep(20)) {
    if (Date.now() > end) return false;
  }
  return true;
}

/** Collects what arrives, in order, with the time of arrival. */
class Inbox {
  arrivals = [];

  add(m) {
    this.arrivals.push({ m, at: Date.now() });
    return ConsumeResult.SUCCESS;
  }

  bodies() {
    const counts = new Map();
    for (const { m } of this.arrivals) counts.set(text(m), (counts.get(text(m)) ?? 0) + 1);
    return counts;
  }

  /** Waits for n different bodies and then a moment for doubles. */
  async expect(f, n, ms) {
    await wait(ms, () => this.bodies().size >= n);
    await sleep(500);
    const got = this.bodies();
    const doubled = [ ...got.values() ].filter(times => times > 1).length;
    f.see('different', got.size);
    f.see('doubled', doubled);
    f.must(got.size === n && doubled === 0, `want ${n} messages once, got ${got.size}, ${doubled} of them more than once`);
  }

  async drain(consumer, n, ms) {
    for (const end = Date.now() + ms; this.bodies().size < n && Date.now() < end;) {
      for (const m of await consumer.receive(16, 30000)) {
        this.add(m);
        await consumer.ack(m);
      }
    }
  }
}

async function normal(s, f) {
  const topic = s.topic('NORMAL');
  const p = await s.producer(topic);
  const made = n => message(topic, `body ${n}`, { tag: 'TagA', keys: [ `k${n}`, 'x' ], properties: new Map([[ 'colour', `blue ${n}` ]]) });
  for (let n = 0; n < 30; n++) await p.send(made(n));
  await Promise.all(Array.from({ length: 10 }, (_, i) => p.send(made(30 + i))));
  const inbox = new Inbox();
  await inbox.drain(await s.simple(topic), 40, 60000);
  await inbox.expect(f, 40, 100);
  const m = inbox.arrivals[0].m;
  f.see('tag', m.tag);
  f.see('keys', m.keys.length);
  f.see('properties', [ ...m.properties.keys() ].sort());
  f.see('attempt', m.deliveryAttempt);
  f.see('born host', m.bornHost !== '');
}

async function push(s, f) {
  const topic = s.topic('NORMAL');
  const p = await s.producer(topic);
  const inbox = new Inbox();
  const attempts = [];
  await s.push(topic, m => {
    if (text(m) === 'body 7') {
      attempts.push(m.deliveryAttempt);
      if (attempts.length < 2) return ConsumeResult.FAILURE;
    }
    return inbox.add(m);
  });
  for (let n = 0; n < 40; n++) await p.send(message(topic, `body ${n}`));
  await inbox.expect(f, 40, 60000);
  f.see('attempts', attempts);
}

/** The group's retries end after one; whoever runs the story looks at the dead letters. */
async function dead(s, f) {
  const topic = s.topic('NORMAL');
  const p = await s.producer(topic);
  const attempts = [];
  await s.push(topic, m => {
    attempts.push(m.deliveryAttempt);
    return ConsumeResult.FAILURE;
  });
  await p.send(message(topic, 'poison'));
  await wait(60000, () => attempts.length >= 2);
  await sleep(3000);
  f.see('attempts', attempts);
}

/** Acknowledges one message, leaves one to itself and changes the invisible time of a third. */
async function simple(s, f) {
  const topic = s.topic('NORMAL');
  const p = await s.producer(topic);
  for (const body of [ 'acked', 'left', 'changed' ]) await p.send(message(topic, body));
  const c = await s.simple(topic);
  const attempts = { acked: [], left: [], changed: [] };
  const first = {};
  for (const end = Date.now() + 60000; Date.now() < end && (attempts.left.length < 2 || attempts.changed.length < 2);) {
    for (const m of await c.receive(16, 10000)) {
      const body = text(m);
      attempts[body].push(m.deliveryAttempt);
      if (body === 'acked') {
        f.see('ack', await answer(() => c.ack(m)));
        f.see('ack twice', await answer(() => c.ack(m)));
      } else if (first[body]) {
        f.see(`${body} waited its time`, Date.now() - first[body] >= 9000);
        f.see(`${body} acked`, await answer(() => c.ack(m)));
      } else {
        if (body === 'changed') {
          f.see('change', await answer(() => c.changeInvisibleDuration(m, 15000)));
          f.see('change of a change', await answer(() => c.changeInvisibleDuration(m, 12000)));
        }
        first[body] = Date.now();
      }
    }
  }
  f.see('attempts', JSON.stringify(attempts));
  f.must(attempts.acked.length === 1 && attempts.left.length === 2 && attempts.changed.length === 2, JSON.stringify(attempts));
  f.see('rest', (await c.receive(16, 10000)).length);
}

async function filterSQL(s, f) {
  const topic = s.topic('NORMAL');
  const p = await s.producer(topic);
  for (const tag of [ 'TagA', 'TagB', 'TagC' ]) {
    for (let n = 0; n < 10; n++) await p.send(message(topic, `${tag} ${n}`, { tag, properties: new Map([[ 'n', String(n) ]]) }));
  }
  const inbox = new Inbox();
  await inbox.drain(await s.simple(topic, new FilterExpression('n > 5 AND n IS NOT NULL', FilterType.SQL)), 12, 30000);
  await inbox.expect(f, 12, 100);
}

/** Without failures: the client knows no customized backoff and gives a failed ordered message to the dead letters at once. */
async function fifo(s, f) {
  const topic = s.topic('FIFO');
  const p = await s.producer(topic);
  const seen = {};
  let total = 0;
  await s.push(topic, m => {
    const [ group, n ] = text(m).split(':');
    (seen[group] ??= []).push(Number(n));
    total++;
    return ConsumeResult.SUCCESS;
  });
  for (let n = 0; n < 20; n++) {
    for (const group of [ 'g0', 'g1', 'g2', 'g3' ]) await p.send(message(topic, `${group}:${n}`, { messageGroup: group }));
  }
  await wait(60000, () => total >= 80);
  await sleep(500);
  f.see('groups', Object.keys(seen).length);
  for (const [ group, numbers ] of Object.entries(seen)) {
    f.see(group, numbers.length);
    f.must(numbers.length === 20 && numbers.every((n, i) => n === i), `${group} in order: ${numbers}`);
  }
}

async function delay(s, f) {
  const topic = s.topic('DELAY');
  const p = await s.producer(topic);
  const inbox = new Inbox();
  await s.push(topic, m => inbox.add(m));
  const due = {};
  for (let n = 0; n < 10; n++) {
    const at = Date.now() + 2500 + n * 300;
    due[`body ${n}`] = at;
    f.see('handle', !!(await p.send(message(topic, `body ${n}`, { deliveryTimestamp: new Date(at) }))).recallHandle);
  }
  await inbox.expect(f, 10, 60000);
  for (const { m, at } of inbox.arrivals) {
    const early = due[text(m)] - at;
    f.must(early <= (exact ? 0 : 1000), `${text(m)} early by ${early} ms`);
    f.must(early > -10000, `${text(m)} late by ${-early} ms`);
    f.see('delivery time', m.deliveryTimestamp !== undefined);
  }
  f.see('too far', await answer(() => p.send(message(topic, 'far', { deliveryTimestamp: new Date(Date.now() + 864e6) }))));
}

async function recall(s, f) {
  const topic = s.topic('DELAY');
  const p = await s.producer(topic);
  const inbox = new Inbox();
  await s.push(topic, m => inbox.add(m));
  const deliveryTimestamp = new Date(Date.now() + 12000);
  const gone = await p.send(message(topic, 'recalled', { deliveryTimestamp }));
  await p.send(message(topic, 'stays', { deliveryTimestamp }));
  f.see('recall', await answer(() => p.recallMessage(topic, gone.recallHandle)));
  f.see('recall with garbage', await answer(() => p.recallMessage(topic, 'garbage')));
  await inbox.expect(f, 1, 30000);
  f.must(inbox.bodies().has('stays'), `got ${[ ...inbox.bodies().keys() ]}`);
  f.see('recall late', await answer(() => p.recallMessage(topic, gone.recallHandle)));
}

async function transaction(s, f) {
  const topic = s.topic('TRANSACTION');
  const asked = new Set();
  const p = await s.producer(topic, async m => {
    asked.add(text(m));
    return text(m).endsWith('later') ? TransactionResolution.COMMIT : TransactionResolution.ROLLBACK;
  });
  const inbox = new Inbox();
  await s.push(topic, m => inbox.add(m));
  for (let n = 0; n < 5; n++) {
    for (const what of [ 'commit', 'rollback', 'later', 'never' ]) {
      const t = p.beginTransaction();
      await p.send(message(topic, `${n} ${what}`), t);
      if (what === 'commit') await t.commit();
      if (what === 'rollback') await t.rollback();
    }
  }
  const undecided = () => [ ...asked ].filter(body => /never|later/.test(body)).length;
  await wait(90000, () => inbox.bodies().size >= 10 && undecided() >= 10);
  f.see('asked', undecided());
  f.see('visible', inbox.bodies().size);
  f.must(inbox.bodies().size === 10, `visible: ${[ ...inbox.bodies().keys() ]}`);
  for (const [ body, times ] of inbox.bodies()) {
    f.must(/commit|later/.test(body), `visible: ${body}`);
    f.must(times === 1 || !exact, `${body} visible ${times} times`); // Apache can ask about what was decided while its check ran
  }
}

const stories = { dead, push, simple, fifo, transaction, delay, recall, normal, filter_sql: filterSQL };

async function run(endpoint, prefix, name) {
  const f = new Facts();
  const begin = Date.now();
  try {
    await stories[name](new Session(endpoint, prefix, name), f);
  } catch (e) {
    console.error(name, e);
    f.must(false, e);
  }
  console.log(f.result(name));
  console.error(name, Date.now() - begin, 'ms');
}

const [ endpoint, prefix, ...only ] = process.argv.slice(2);
Promise.all(Object.keys(stories).filter(name => only.length === 0 || only.includes(name)).map(name => run(endpoint, prefix, name)))
  .then(() => process.stdout.write('', () => process.exit(0)));
