package rocketd.scenario;

import java.util.Collections;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Deletion of a topic in name servers, a call that differs between client versions. */
final class Deletion {
    static void inNameServer(DefaultMQAdminExt admin, String namesrv, String topic) throws Exception {
        admin.deleteTopicInNameServer(Collections.singleton(namesrv), "DefaultCluster", topic);
    }

    private Deletion() {
    }
}
