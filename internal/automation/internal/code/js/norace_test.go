//go:build !race

package js_test

const racing = false
