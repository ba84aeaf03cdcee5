// Package dashboard asks Apache's rocketmq-dashboard what its pages ask, with Apache's broker and with rocketd behind it, and compares the
// answers; and rocketmq-exporter for its metrics. `make dashboard` runs it and writes docs/dashboard.md.
//
// Both programs are built from Apache's sources (mvn package): their jars are in no registry, so DASHBOARD_JAR and EXPORTER_JAR name them.
// Without them the tests are skipped.
package dashboard
