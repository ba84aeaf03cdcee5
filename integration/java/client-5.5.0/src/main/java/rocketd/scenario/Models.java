package rocketd.scenario;

import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;

/** The message models, whose package differs between client versions. */
final class Models {
    static final MessageModel BROADCASTING = MessageModel.BROADCASTING;

    private Models() {
    }
}
