// A server that answers every request after the same time, so that it is known which latencies a
// load generator should tell.
//
// Usage: latency ADDRESS DURATION
package main

import (
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: latency ADDRESS DURATION")
	}
	latency, err := time.ParseDuration(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	answer := func(reply http.ResponseWriter, _ *http.Request) {
		time.Sleep(latency)
		reply.Write([]byte("ok\n"))
	}
	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(answer)))
}
