package value

// small makes an object of one of the usual sizes, which is one piece of memory; nil when it would be of another size.
func small(size int) *Object {
	switch {
	case size <= 0:
		return &Object{}
	case size <= 1:
		o := &struct {
			Object

			room [1]entry
		}{}
		o.entries = o.room[:0]
		return &o.Object
	case size <= 2:
		o := &struct {
			Object

			room [2]entry
		}{}
		o.entries = o.room[:0]
		return &o.Object
	case size <= 4:
		o := &struct {
			Object

			room [4]entry
		}{}
		o.entries = o.room[:0]
		return &o.Object
	case size <= 8:
		o := &struct {
			Object

			room [8]entry
		}{}
		o.entries = o.room[:0]
		return &o.Object
	case size <= 12:
		o := &struct {
			Object

			room [12]entry
		}{}
		o.entries = o.room[:0]
		return &o.Object
	default:
		return nil
	}
}
