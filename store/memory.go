package store

// assumedMemory is taken for the machine's memory where it cannot be asked.
const assumedMemory = 8 << 30
