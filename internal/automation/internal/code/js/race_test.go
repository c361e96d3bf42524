//go:build race

package js_test

// racing tells that the engine is being watched for races, which makes it many times slower: what is about time and size, and
// not about what happens at once, is left to the ordinary tests.
const racing = true
