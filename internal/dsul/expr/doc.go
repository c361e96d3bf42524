// Package expr is the expression language of automations: what stands between {% and %}, the keys of conditions, texts in
// which {{variables}} stand, and the paths of variables. It reads them into small trees, with errors that say what is
// allowed, and compiles the trees into programs that run on plain values.
//
// Nothing here reads a clock, a random source or a file: an Env brings what a program may see. Reading takes linear time
// and bounded depth, whatever the text; running has a budget.
package expr
