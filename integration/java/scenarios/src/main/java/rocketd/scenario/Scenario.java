package rocketd.scenario;

/** One story of a client against a name server and broker. */
public interface Scenario {
    void run(Env env, Facts facts) throws Exception;
}
