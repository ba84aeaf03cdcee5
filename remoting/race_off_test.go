//go:build !race

package remoting

const manyReaders = 2000
