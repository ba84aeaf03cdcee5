// Package control serves a brokertest.Broker over HTTP, so that tests in every language can move its clock, ask for faults, wait and look:
// what rocketd test does. openapi.yaml describes it; GET /openapi.yaml gives that text.
//
// Requests and answers are JSON. An answer other than 200 has an Error as its body: 400 for what can not be understood, 404 for what is not
// there, 409 for what can not be done now and for a wait that has ended without what was waited for (its member seen tells what there was
// instead). Nothing needs a client library: every call is one request.
package control
