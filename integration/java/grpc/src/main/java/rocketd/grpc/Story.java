package rocketd.grpc;

/** One story of a gRPC client against a proxy and the broker behind it. */
interface Story {
    void run(Session session, Facts facts) throws Exception;
}
