//go:build race

package remoting

// manyReaders is smaller here: the race detector makes each of them dear.
const manyReaders = 300
