package shop;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Waits as a database would. */
@SpringBootApplication
@RestController
public class Shop {
  public static void main(String[] arguments) {
    SpringApplication.run(Shop.class, arguments);
  }

  @GetMapping("/")
  String page() throws InterruptedException {
    Thread.sleep(20);
    return "ok";
  }
}
