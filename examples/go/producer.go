// Enqueues a job for each address: go run producer.go you@example.com ...
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

func enqueue(url, address string) (string, error) {
	body, err := json.Marshal(map[string]any{
		"type": "email.send", "queue": "email", "args": []any{address},
	})
	if err != nil {
		return "", err
	}
	response, err := http.Post(url+"/ojs/v1/jobs", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer struct {
		Job   struct{ ID string }
		Error struct{ Message, Hint string }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusCreated {
		// Every refusal says what is wrong and what to do.
		return "", fmt.Errorf("%s %s", answer.Error.Message, answer.Error.Hint)
	}
	return answer.Job.ID, nil
}

func main() {
	url := os.Getenv("ROTA_URL")
	if url == "" {
		url = "http://127.0.0.1:8080"
	}
	for _, address := range os.Args[1:] {
		id, err := enqueue(url, address)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id)
	}
}
