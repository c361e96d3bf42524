//go:build !race

package code_test

const racing = false
