// Package console tests the console's page in a real browser: a headless Chromium, which must be installed. Without one the tests are
// skipped and say so; with CI=true that is an error. Screenshots go to the directory that ROCKETD_SCREENSHOTS names, else to a
// temporary one.
package console
