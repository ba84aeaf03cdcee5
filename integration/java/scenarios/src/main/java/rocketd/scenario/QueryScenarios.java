package rocketd.scenario;

import java.util.Map;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;

final class QueryScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("query", QueryScenarios::query);
    }

    static void query(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        long begin = System.currentTimeMillis() - 10000;
        SendResult sent = null;
        for (int i = 0; i < 10; i++) {
            sent = p.send(Env.message(topic, "TagA", "order" + i + " customer" + i % 2, "body " + i));
        }
        SendResult last = sent;
        Thread.sleep(1500);
        long end = System.currentTimeMillis() + 10000;
        for (String key : new String[] {"order3", "customer1", "customer0"}) {
            QueryResult r = p.queryMessage(topic, key, 32, begin, end);
            f.see(key, r.getMessageList().size());
        }
        try {
            f.see("nothing", p.queryMessage(topic, "nothing", 32, begin, end).getMessageList().size());
        } catch (MQClientException e) {
            f.see("nothing", "code " + e.getResponseCode());
        }
        f.see("by offset id", Env.text(env.admin().viewMessage(topic, last.getOffsetMsgId())));
        f.see("by unique id", Env.text(env.admin().viewMessage(topic, last.getMsgId())));
        MessageExt m = env.admin().viewMessage(topic, last.getMsgId());
        f.see("properties", new java.util.TreeSet<>(m.getProperties().keySet()));
    }

    private QueryScenarios() {
    }
}
