package rocketd.scenario;

import org.apache.rocketmq.common.protocol.heartbeat.MessageModel;

/** The message models, whose package differs between client versions. */
final class Models {
    static final MessageModel BROADCASTING = MessageModel.BROADCASTING;

    /** Scenarios that this client alone can run: none. */
    static void add(java.util.Map<String, Scenario> all) {
    }

    private Models() {
    }
}
