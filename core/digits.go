package core

// digitsRead is the most digits that ReadDigits takes: any number of so many fits.
const digitsRead = 19

// ReadDigits reads a number written in decimal digits and nothing else, unknown
// for any other text and for more than 19 digits. It is for what each request
// brings: in a filter, which runs cold, the library's way costs the reading of
// several times as much code.
func ReadDigits(text string) Count {
	if text == "" || len(text) > digitsRead {
		return Count{}
	}
	var n uint64
	for i := range len(text) {
		c := text[i]
		if c < '0' || c > '9' {
			return Count{}
		}
		n = 10*n + uint64(c-'0')
	}
	return Known(n)
}
