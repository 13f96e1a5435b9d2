package callstream

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"
)

// prefixBytes stand before each message of a gRPC body: a byte that is 1 when it is
// compressed, and its length in four, the highest first.
const prefixBytes = 5

const (
	gone         = "the client went away"
	stopping     = "the service stops; open the stream anew"
	uncompressed = "send messages without compression"
)

// protocolError is why a stream cannot go on. Its message is plain ASCII without a percent
// sign, as it goes into a header field.
type protocolError struct {
	code    codes.Code
	message string
}

func (e *protocolError) Error() string { return e.message }

// readFrame reads one message of at most so many bytes. It is the caller's. io.EOF is the end
// of a body that ended between messages.
func readFrame(r *bufio.Reader, most int) ([]byte, error) {
	prefix, err := r.Peek(prefixBytes)
	if err != nil {
		return nil, cutOff(err, len(prefix))
	}
	size, compressed := binary.BigEndian.Uint32(prefix[1:]), prefix[0]
	switch {
	case compressed == 1:
		return nil, &protocolError{codes.Unimplemented, uncompressed}
	case compressed != 0:
		return nil, &protocolError{codes.InvalidArgument, "not a gRPC message: its first byte is neither 0 nor 1"}
	case uint64(size) > uint64(most):
		return nil, &protocolError{codes.ResourceExhausted, fmt.Sprintf("a call is larger than %d bytes; send those with large bodies by POST /v1/observe", most)}
	}
	_, _ = r.Discard(prefixBytes) // they are there
	message := make([]byte, size)
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, cutOff(err, prefixBytes)
	}
	return message, nil
}

// cutOff tells the end of a body within a message, of which so much was read, from its end.
func cutOff(err error, read int) error {
	if read > 0 && errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// begin sets the header of a response.
func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/grpc")
	w.WriteHeader(http.StatusOK)
}

// finish sets the trailers of a response whose header was sent.
func finish(w http.ResponseWriter, code codes.Code, message string) {
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(code)))
	if message != "" {
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", message)
	}
}

// Refuse answers a gRPC request with a status alone. The message is plain ASCII without a
// percent sign.
func Refuse(w http.ResponseWriter, code codes.Code, message string) {
	w.Header().Set("Grpc-Status", strconv.Itoa(int(code)))
	w.Header().Set("Grpc-Message", message)
	begin(w)
}
