// Runs the jobs of the queue "email", one after the other: go run worker.go
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type object = map[string]any

var rota, worker = os.Getenv("ROTA_URL"), fmt.Sprint("go-", os.Getpid())

// Returns what to do with the job, and what to report: its result, or what went wrong.
func sendEmail(address string) (string, string, any) {
	if !strings.Contains(address, "@") { // another attempt would not help
		return "nack", "error", object{"type": "Permanent", "message": "no address: " + address, "retryable": false}
	}
	log.Println("sending an email to", address)
	return "ack", "result", object{"sent": address}
}

func post(path string, body object) (answer struct{ Jobs []object }) {
	text, _ := json.Marshal(body)
	response, err := http.Post(rota+"/ojs/v1/workers/"+path, "application/json", bytes.NewReader(text))
	if err == nil {
		defer response.Body.Close()
		err = json.NewDecoder(response.Body).Decode(&answer)
	}
	if err != nil || response.StatusCode != http.StatusOK {
		log.Println(path, "failed:", err, response)
		time.Sleep(time.Second)
	}
	return answer
}

func main() {
	if rota == "" {
		rota = "http://127.0.0.1:8080"
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	for len(stop) == 0 {
		// Waits for a job, so that there is no need to poll.
		ask := object{"queues": []string{"email"}, "worker_id": worker, "wait_ms": 2000}
		for _, job := range post("fetch", ask).Jobs {
			path, key, value := sendEmail(fmt.Sprint(job["args"].([]any)...))
			// With the worker and the attempt, a report that comes too late is refused.
			post(path, object{"job_id": job["id"], "worker_id": worker, "attempt": job["attempt"], key: value})
		}
	}
}
