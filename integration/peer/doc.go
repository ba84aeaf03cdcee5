// Package peer starts what the integration tests need around rocketd: the built binary itself, Apache's own name
// server and broker as the reference, and real Java clients. It brings everything a clone needs: Java artifacts come
// from Maven Central through the project in integration/java. Where JDK or Maven are missing, tests that need them
// are skipped with a line that says what to install; with CI=true they fail.
package peer
