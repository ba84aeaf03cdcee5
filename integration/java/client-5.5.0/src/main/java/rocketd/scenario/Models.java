package rocketd.scenario;

import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;

/** The message models, whose package differs between client versions. */
final class Models {
    static final MessageModel BROADCASTING = MessageModel.BROADCASTING;

    /** Scenarios that this client alone can run. */
    static void add(java.util.Map<String, Scenario> all) {
        PopScenarios.add(all);
        PopOrderScenarios.add(all);
        CompressScenarios.add(all);
    }

    private Models() {
    }
}
