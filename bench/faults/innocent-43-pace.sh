#!/bin/sh
# Asks a service that allows 20 requests per second: eight requests, and a pause after each.
request=0
while [ $request -lt 8 ]; do
    printf 'request %d\n' $request
    sleep 0.05
    request=$((request + 1))
done
